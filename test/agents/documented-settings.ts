import { readFileSync } from 'node:fs';

/** The code block of docs/agents.md that holds `marker`, with the placeholders filled in. Throws where there is none. */
export function documentedSettings(
  marker: string,
  values: { readonly port: number; readonly key: string; readonly model: string },
): string {
  return codeBlock('docs/agents.md', marker)
    .replaceAll('HOST:8080', `127.0.0.1:${values.port}`)
    .replaceAll('mgk_…', values.key)
    .replaceAll(/\bMODEL\b/g, values.model);
}

/** The code block of a document of the repository that holds `marker`. Throws if there is none, or more than one. */
export function codeBlock(document: string, marker: string): string {
  const text = readFileSync(new URL(`../../${document}`, import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const found = blocks.filter((block) => block.includes(marker));
  const [block] = found;
  if (block === undefined || found.length > 1)
    throw new Error(`${document} has ${found.length} code blocks with ${marker}`);
  return block;
}
