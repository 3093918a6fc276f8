import { readFileSync } from 'node:fs';

/** The code block of README.md that holds `marker`, with the placeholders filled in. Throws where there is none. */
export function readmeSettings(
  marker: string,
  values: { readonly port: number; readonly key: string; readonly model: string },
): string {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const blocks = [...readme.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const found = blocks.filter((block) => block.includes(marker));
  const [block] = found;
  if (block === undefined || found.length > 1)
    throw new Error(`README.md has ${found.length} code blocks with ${marker}`);
  return block
    .replaceAll('HOST:8080', `127.0.0.1:${values.port}`)
    .replaceAll('mgk_…', values.key)
    .replaceAll(/\bMODEL\b/g, values.model);
}
