import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sparticuz from '@sparticuz/chromium';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import project from '../../package.json' with { type: 'json' };
import { withExclusiveLock } from '../support/exclusive-lock.ts';

const { devDependencies } = project;
const machines = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** Those of the packaged browser for a machine without a display; nothing here weakens what a page may do. */
const flags = ['--headless=shell', '--no-sandbox', '--no-zygote', '--disable-gpu'];

/** The machine's own Chromium (or the one that CHROMIUM names), else the one inside the npm package. */
export async function startBrowser(): Promise<Browser> {
  const own = process.env['CHROMIUM'] ?? machines.find((path) => existsSync(path));
  return chromium.launch({
    executablePath: own ?? (await packagedBrowser()),
    headless: true,
    args: own === undefined ? flags : ['--no-sandbox'],
  });
}

/**
 * The browser inside the npm package, unpacked into the folder for temporary files where it is not there yet. One process at
 * a time: another one would take the half-written file for the browser, and fail to start it (ETXTBSY).
 */
function packagedBrowser(): Promise<string> {
  const folder = tmpdir();
  return withExclusiveLock(
    join(folder, 'model-gateway-chromium.lock'),
    90_000,
    () => {},
    async () => {
      // A run that was killed while it unpacked left a half-written file, an older package its older browser.
      const whole = join(folder, `model-gateway-chromium-${devDependencies['@sparticuz/chromium']}-is-whole`);
      if (existsSync(whole)) return sparticuz.executablePath();
      await rm(join(folder, 'chromium'), { force: true });
      const path = await sparticuz.executablePath();
      await writeFile(whole, '');
      return path;
    },
  );
}

/** One person at a browser of their own. */
export interface Person extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Goes to a page of the console and waits until it shows the live state. */
  visit(path: string): Promise<void>;
  /** What the page complained of: errors in scripts, refused resources, messages to the browser's log. */
  readonly complaints: readonly string[];
}

/** Opens the console by an address with a token, in a browser profile of its own. */
export async function openConsole(
  browser: Browser,
  address: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Person> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`);
  });
  await page.goto(address);
  await page.waitForURL('**/nodes');
  const { origin } = new URL(address);
  return {
    page,
    context,
    complaints,
    async visit(path) {
      await page.goto(`${origin}${path}`);
      await page.locator('.connection.live').waitFor();
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}
