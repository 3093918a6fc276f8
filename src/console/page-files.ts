import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

/** A file as browsers get it. */
export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  /** The same, brotli encoded. */
  readonly compressed: Buffer;
  /** Changes with the content. */
  readonly etag: string;
}

const compress = promisify(brotliCompress);
const types: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    html: 'text/html; charset=utf-8',
    css: 'text/css; charset=utf-8',
    js: 'text/javascript; charset=utf-8',
    ts: 'text/javascript; charset=utf-8',
    svg: 'image/svg+xml',
  }),
);

/**
 * Every file of the page by its address. The sources of this folder's `page/` are what browsers run: their types are
 * stripped here, so that there is no build step between a change and the page. In the published package they are
 * JavaScript already. Libraries come from their packages.
 */
export async function readPageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const folder = fileURLToPath(new URL('page/', import.meta.url));
  const files = new Map<string, PageFile>();
  const script = existsSync(`${folder}main.ts`) ? 'ts' : 'js';
  for (const name of await readdir(folder)) {
    const extension = name.slice(name.lastIndexOf('.') + 1);
    const type = types.get(extension);
    if (type === undefined || name.endsWith('.d.ts')) continue;
    const source = await readFile(`${folder}${name}`, 'utf8');
    const text =
      name === 'index.html'
        ? source.replaceAll('{{script}}', script)
        : withAddresses(extension === 'ts' ? stripTypeScriptTypes(source) : source);
    files.set(name === 'index.html' ? '/' : `/page/${name}`, await pageFile(type, text));
  }
  for (const [path, module] of Object.entries(libraries)) {
    const type = types.get(path.slice(path.lastIndexOf('.') + 1)) ?? '';
    files.set(path, await pageFile(type, await readFile(fileURLToPath(import.meta.resolve(module)), 'utf8')));
  }
  return files;
}

const libraries = {
  '/page/htm-preact.js': 'htm/preact/standalone',
  '/page/pico.css': '@picocss/pico/css/pico.min.css',
  '/page/diff/array.js': 'diff/lib/diff/array.js',
  // `array.js` imports it by its place.
  '/page/diff/base.js': 'diff/lib/diff/base.js',
};

/** A script that imports a library by its package's name, as Node.js finds it: with the address that browsers know. */
function withAddresses(script: string): string {
  return script.replaceAll(/(?<= from ')diff\/lib\/(?=diff\/)/g, '/page/');
}

async function pageFile(type: string, text: string): Promise<PageFile> {
  const body = Buffer.from(text);
  return {
    type,
    body,
    compressed: await compress(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
  };
}
