import { readFileSync } from 'node:fs';

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
