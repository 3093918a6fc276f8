// Reports words that a reader who does not know this project has to guess at, and names the plain word instead: in comments
// and messages of TypeScript files, in Markdown, and in comments of YAML files.
//
// To extend it: add a row to `rules` if the word can be judged without its context (a word that is right in some sentences
// causes false alarms; leave it to the reader), and an example to test/unit/support/words.test.ts. Add a folder or file to
// `checked` after rewriting it. In the end `checked` is the whole tree.
import { globSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { createScanner, SyntaxKind } from 'typescript/unstable/ast';

/** Files that are written in plain words. */
const checked = [
  'src/{cli,console,kube,listen,observe,resources,routing,tls,upstream}/**/*.{ts,md}',
  'src/{bin,controller,convert,gateway,roles,runtime}/**/*.ts',
  'src/*.ts',
  'src/store/**/*.ts',
  'charts/model-gateway/values.yaml',
];

interface Rule {
  readonly pattern: RegExp;
  readonly plain: string;
  /** Paths in which the word means something else. */
  readonly except?: RegExp;
}

/** Spaces match line breaks too. */
const rules: readonly Rule[] = [
  { pattern: /\b(?:is|are|was|were|be|been|being)\s+told\b/gi, plain: 'is notified, is informed' },
  { pattern: /\b(?:told|tells?|telling)\s+of\b/gi, plain: 'reports, describes, logs' },
  { pattern: /\b(?:hears?|heard|hearing)\b/gi, plain: 'receives, is notified' },
  { pattern: /\b(?:mends?|mended|mending)\b/gi, plain: 'fixes' },
  { pattern: /\b(?:bites?|biting)\b/gi, plain: 'takes effect' },
  { pattern: /\b(?:stands?|stood)\s+for\b/gi, plain: 'represents, means' },
  { pattern: /\bput\s+up\s+with\b/gi, plain: 'tolerates' },
  { pattern: /\banew\b/gi, plain: 'again' },
  { pattern: /\bin\s+vain\b/gi, plain: 'without success' },
  { pattern: /\bwho(?:so)?ever\b/gi, plain: 'the caller, the person who' },
  { pattern: /\b(?:is|are|was|were|be)\s+gone\b/gi, plain: 'was deleted, is closed, no longer exists' },
  { pattern: /\bfor\s+ever\b/gi, plain: 'indefinitely, until restart' },
  { pattern: /\bmeanwhile\b/gi, plain: 'at the same time, since then' },
  {
    pattern: /\b(?:a|one|each|every|this|next|same)\s+turn\b(?!\s+of\s+the\s+event\s+loop)/gi,
    plain: 'a turn of the event loop',
    // Turns of a conversation, and of a clock.
    except: /^src\/(?:convert|gateway\/answer)\//,
  },
  { pattern: /\bnobody['’]s\b/gi, plain: 'unowned' },
  { pattern: /\b(?:comes?|came|coming)\s+of\s+(?:it|this|that|them)\b/gi, plain: 'results from it' },
  { pattern: /\bthe\s+definitions?\s+of\s+(?:our|its|the)\s+kinds?\b/gi, plain: 'the CRD' },
  { pattern: /\b(?:has|have|had|having|needs?|without)\s+(?:no\s+|the\s+)?rights?\b/gi, plain: 'permission' },
  { pattern: /\bput\s+right\b/gi, plain: 'fixed' },
  { pattern: /\bby\s+itself\b(?=\s+(?:alone|and))/gi, plain: 'automatically' },
  { pattern: /\bholds?\s+for\s+all\b/gi, plain: 'applies to all' },
  {
    pattern: /\b(?:wherefore|whence|hence|thence|thereof|afresh|lest|beforehand)\b/gi,
    plain: 'because, from there, before',
  },
  { pattern: /\b(?:evenings?|tonight|last\s+night)\b/gi, plain: 'a date' },
];

/** Text that people read, with the line that it starts on. */
interface Prose {
  readonly text: string;
  readonly line: number;
}

/**
 * Checks one file's text.
 * @returns `LINE: "word": write "plain"`, one for each word found
 */
export function privateWords(path: string, text: string): string[] {
  const applying = rules.filter(({ except }) => except?.test(path) !== true);
  return proseOf(path, text).flatMap((prose) =>
    applying.flatMap(({ pattern, plain }) =>
      [...prose.text.matchAll(pattern)].map((found) => {
        const line = prose.line + prose.text.slice(0, found.index).split('\n').length - 1;
        return `${line}: "${found[0].replaceAll(/\s+/g, ' ')}": write "${plain}"`;
      }),
    ),
  );
}

function proseOf(path: string, text: string): Prose[] {
  if (path.endsWith('.ts')) return proseOfTypeScript(text);
  if (path.endsWith('.yaml')) {
    return text.split('\n').flatMap((line, index) => {
      const comment = /(?:^|\s)#.*$/.exec(line)?.[0];
      return comment === undefined ? [] : [{ text: comment, line: index + 1 }];
    });
  }
  // What Markdown quotes as code belongs to others. The characters stay, so that lines are counted right.
  return [
    { text: text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, (code) => code.replaceAll(/[^\n]/g, '·')), line: 1 },
  ];
}

const comments: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.SingleLineCommentTrivia,
  SyntaxKind.MultiLineCommentTrivia,
]);
const strings: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
]);
/** After these a slash divides; after anything else it begins a regular expression. */
const operands: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.Identifier,
  SyntaxKind.NumericLiteral,
  SyntaxKind.CloseParenToken,
  SyntaxKind.CloseBracketToken,
  SyntaxKind.CloseBraceToken,
]);

/** Comments, and the texts of strings: a pattern of several words matches only what was written for people. */
function proseOfTypeScript(source: string): Prose[] {
  const scanner = createScanner(false, undefined, source);
  const found: Prose[] = [];
  /** For each open brace, whether it belongs to a template. */
  const braces: boolean[] = [];
  let before: SyntaxKind = SyntaxKind.Unknown;
  for (let kind = scanner.scan(); kind !== SyntaxKind.EndOfFile; kind = scanner.scan()) {
    if (kind === SyntaxKind.SlashToken && !operands.has(before)) kind = scanner.reScanSlashToken();
    else if (kind === SyntaxKind.TemplateHead) braces.push(true);
    else if (kind === SyntaxKind.OpenBraceToken) braces.push(false);
    else if (kind === SyntaxKind.CloseBraceToken && braces.pop() === true) {
      kind = scanner.reScanTemplateToken(false);
      if (kind === SyntaxKind.TemplateMiddle) braces.push(true);
    }
    if (comments.has(kind) || strings.has(kind)) {
      const start = scanner.getTokenStart();
      // A line comment continues in the next one: "is" may end one line and "told" begin the next.
      const text = scanner.getTokenText().replaceAll(/\n\s*\*\s/g, '\n');
      const last = found.at(-1);
      const line = source.slice(0, start).split('\n').length;
      const continues = kind === SyntaxKind.SingleLineCommentTrivia && last?.line === line - lineCount(last);
      if (continues && last !== undefined) {
        found[found.length - 1] = { line: last.line, text: `${last.text}\n${text.slice(2)}` };
      } else found.push({ text, line });
    }
    if (kind !== SyntaxKind.WhitespaceTrivia && kind !== SyntaxKind.NewLineTrivia && !comments.has(kind)) {
      before = kind;
    }
  }
  return found;
}

function lineCount(prose: Prose | undefined): number {
  return prose?.text.split('\n').length ?? 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  // Patterns of files that are still to be rewritten may be given as arguments.
  const patterns = process.argv.length > 2 ? process.argv.slice(2) : checked;
  const found = globSync(patterns).flatMap((path) =>
    privateWords(path, readFileSync(path, 'utf8')).map((word) => `${path}:${word}`),
  );
  for (const line of found) process.stdout.write(`${line}\n`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
