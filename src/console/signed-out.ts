/** What a browser without a session is told. */
export const signedOut =
  'This browser is not signed in, or was idle for too long. Open the newest address that the console has printed; it is good for one browser. Of standalone mode and npm start it stands in the file console-address of the data folder.';

/** Leads a browser into the page. No redirect: the cookie is not sent along a chain that began on another site. */
const leadIn = '<meta http-equiv="refresh" content="0;url=/nodes">';

/** Answers an address with a token for a browser that is signed in, by it or before. */
export const signedInPage = `<!doctype html><meta charset="utf-8">${leadIn}<title>Model Gateway</title>`;

/** Answers a browser that is not signed in. */
export const signedOutPage = pageWith('');

/**
 * Answers an address that was used. People click it twice, and the second time its browser may be signed in without
 * sending the cookie, because the click was on another site. So the page asks for `/nodes`, with the cookie.
 */
export const usedAddressPage = pageWith(leadIn);

function pageWith(meta: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8">${meta}<title>Model Gateway</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/page/pico.css"><link rel="stylesheet" href="/page/style.css"><main class="container"><h1>Signed out</h1><p>${signedOut}</p></main></html>`;
}
