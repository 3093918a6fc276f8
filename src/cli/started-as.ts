import { dirname, join, resolve } from 'node:path';
import process from 'node:process';

const isCheckout = import.meta.url.endsWith('.ts');

/** How a command begins here: in a checkout, whose sources are TypeScript; by `npx`; or installed. */
export const program = isCheckout
  ? 'npm start --silent --'
  : process.env['npm_command'] === 'exec'
    ? 'npx model-gateway'
    : 'model-gateway';

/** How people start the quick start here. */
export const startCommand = isCheckout ? 'npm start' : program;

/** A command for a folder, to be pasted into a shell: `model-gateway nodes --manifests DIR`. */
export function folderCommand(command: string, folder: { manifests: string; data: string }): string {
  const manifests = resolve(folder.manifests);
  const data = resolve(folder.data);
  const isBeside = data === join(dirname(manifests), 'data');
  const flags = `--manifests ${shellWord(manifests)}${isBeside ? '' : ` --data ${shellWord(data)}`}`;
  return `${program} ${command} ${flags}`;
}

/** A text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
