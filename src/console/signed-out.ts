/** The pages for a browser without a session. */
export const signedOut =
  'This browser is not signed in, or was idle for too long. Open the newest address that the console has printed; it is good for one browser. In standalone mode and after npm start, the file console-address in the data folder has it.';

/** Sends a browser to the page. Not by a redirect: the cookie is not sent if the chain began on another site. */
const leadIn = '<meta http-equiv="refresh" content="0;url=/nodes">';

/** Answers an address with a token, for a browser that is signed in. */
export const signedInPage = `<!doctype html><meta charset="utf-8">${leadIn}<title>Model Gateway</title>`;

/** Answers a browser that is not signed in. */
export const signedOutPage = pageWith('');

/**
 * Answers an address that was used before. If people click it again, the browser may be signed in and not send its cookie,
 * because the click was on another site. The returned page requests `/nodes`, which sends the cookie.
 */
export const usedAddressPage = pageWith(leadIn);

function pageWith(meta: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8">${meta}<title>Model Gateway</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/page/pico.css"><link rel="stylesheet" href="/page/style.css"><main class="container"><h1>Signed out</h1><p>${signedOut}</p></main></html>`;
}
