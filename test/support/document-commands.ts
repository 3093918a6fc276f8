import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A command that a document shows. */
export interface DocumentCommand {
  readonly document: string;
  /** As a shell takes it, without comments; a loop is one, with its lines. */
  readonly command: string;
  /** In running text, where it may be a mere mention: `helm upgrade`. Else a line of a block of code. */
  readonly isMention: boolean;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Blocks of code that are shell: `sh`, `bash` … */
const shells = /^(?:sh|bash|shell|console)$/;
/** Programs whose name begins a command in running text. */
const programs =
  /^(?:[A-Z][A-Z_]*=\S* )*(?:[A-Z_]+=\$\()?(?:npm|npx|kubectl|helm|model-gateway|docker|cosign|git|kustomize|curl|vitest|kind|go|openssl) \S/;
/** A template is shown as what is generated from it. */
const notShown = /(?:^|\/)(?:node_modules|dist|model-gateway)\/|\.template\.md$/;

/** Every command of every document of this repository, in the order of `turnOf`, each document from the top. */
export function documentCommands(): DocumentCommand[] {
  const documents = globSync('**/*.md', { cwd: root, exclude: (path) => /node_modules|^\./.test(path) })
    .filter((path) => !notShown.test(path.replace(/^charts\/model-gateway\//, 'charts/')))
    .sort((a, b) => turnOf(a) - turnOf(b) || a.localeCompare(b));
  return documents.flatMap((document) =>
    commandsIn(readFileSync(`${root}/${document}`, 'utf8')).map((found) => ({ document, ...found })),
  );
}

/** The order in which a reader meets the documents: what the installation makes, the pages of the chart and others use. */
function turnOf(document: string): number {
  if (document === 'README.md') return 0;
  return document.startsWith('docs/') ? 1 : 2;
}

/** The commands of one text of Markdown, each once. */
export function commandsIn(text: string): Omit<DocumentCommand, 'document'>[] {
  const shown: string[] = [];
  const prose = text.replaceAll(
    /^( *)```(\S*)[^\n]*\n(.*?)^\1```/gms,
    (_, _indent, language: string, block: string) => {
      if (shells.test(language)) shown.push(...statements(block));
      return '';
    },
  );
  const mentioned = [...prose.matchAll(/`([^`]+)`/g)]
    .map(([, span = '']) => span.replaceAll(/\s+/g, ' ').trim())
    .filter((span) => programs.test(span) && !span.includes(' … '));
  return [
    ...[...new Set(shown)].map((command) => ({ command, isMention: false })),
    ...[...new Set(mentioned)].map((command) => ({ command, isMention: true })),
  ];
}

function statements(block: string): string[] {
  const lines = block.replaceAll(/\s*\\\n\s*/g, ' ').split('\n');
  const found: string[] = [];
  let loop: string[] | undefined;
  for (const raw of lines) {
    const line = raw.replace(/(?:^|\s+)#\s.*$/, '').trim();
    if (line === '') continue;
    if (/^for\b/.test(line)) loop = [];
    if (loop === undefined) found.push(line);
    else loop.push(line);
    if (loop !== undefined && line === 'done') {
      found.push(loop.join('\n'));
      loop = undefined;
    }
  }
  return loop === undefined ? found : [...found, ...loop];
}
