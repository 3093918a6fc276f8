import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
  linux: ['xdg-open'],
};
/** When the file is removed. Browsers read it at once or never. */
const keptMs = 30_000;

/**
 * Opens an address in the person's browser, through a file that only they can read: as an argument of the browser the token
 * would be visible in the list of processes. It is no error if no browser opens, because the address is printed.
 */
export async function openInBrowser(address: string): Promise<void> {
  const [opener, ...args] = openers[process.platform] ?? [];
  if (opener === undefined) return;
  const folder = await mkdtemp(join(tmpdir(), 'model-gateway-'));
  const file = join(folder, 'console.html');
  const html = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${address}"><title>Model Gateway</title>`;
  await writeFile(file, html, { mode: 0o600 });
  const child = spawn(opener, [...args, pathToFileURL(file).href], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
  setTimeout(() => void rm(folder, { recursive: true, force: true }), keptMs).unref();
}
