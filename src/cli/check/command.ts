import { readFile, stat } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { Option } from 'commander';
import { productVersion } from '../../observe/version.ts';
import { FolderReader } from '../../store/folder/read-folder.ts';
import type { AddCommand } from '../add-command.ts';
import { CommandError } from '../command-error.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { explained } from '../help.ts';
import { type Column, listText, printData } from '../output.ts';
import type { Tint } from '../table.ts';
import { type Finding, finding } from './finding.ts';
import { type CheckedFolder, FolderReading } from './folder.ts';
import { judge, sorted } from './judge.ts';
import type { Level } from './rules.ts';
import { sarif, sentence } from './sarif.ts';

const formats = ['table', 'json', 'yaml', 'sarif'] as const;

interface CheckFlags {
  readonly output: (typeof formats)[number];
  readonly sarif?: true;
  readonly strict?: true;
  readonly homeNamespace: string;
  readonly class: readonly string[];
}

/** `check` */
export const addCheck: AddCommand = (program, context) => {
  const command = program
    .command('check')
    .description('Checks manifests before a push, a folder or files: schema, references, secrets.')
    .argument('<path...>', 'the folder, files, or - for manifests that are piped in')
    .addOption(new Option('-o, --output <format>', formats.join(', ')).choices(formats).default('table'))
    .option('--sarif', 'the same as -o sarif, for code scanning')
    .option('--strict', 'warnings fail too')
    .option('--home-namespace <name>', "the platform team's namespace", 'default')
    .option(
      '--class <name>',
      'a class that an installation serves; repeat it',
      (name: string, before: readonly string[]) => [...before, name],
      [] as readonly string[],
    )
    .action(async (paths: readonly string[], flags: CheckFlags) => {
      const { folder, findings } = await readAll(context, paths);
      const { homeNamespace, class: classes } = flags;
      const circumstances = { homeNamespace, classes, now: context.clock.wall() };
      const all = sorted([...findings, ...judge(folder, circumstances)]);
      await print(context, flags.sarif === true ? 'sarif' : flags.output, all);
      context.err.write(`${summary(folder, all)}\n`);
      const failing = flags.strict === true ? ['error', 'warning'] : ['error'];
      if (all.some(({ level }) => failing.includes(level))) throw new CommandError(exitCodes.failed, '');
    });
  completes(command, 'file');
  explained(command, {
    notes: [
      'It sends no requests, and leaves out other kinds and Helm templates. Files of a',
      'Kustomize folder are checked as they are: pipe in the result to check that.',
      'Exit code 1: there was an error, or with --strict a warning. Keys are not shown.',
    ],
    examples: ['check manifests', 'check manifests --strict -o sarif > check.sarif'],
  });
};

async function readAll(
  context: CommandContext,
  paths: readonly string[],
): Promise<{ folder: CheckedFolder; findings: Finding[] }> {
  const reading = new FolderReading();
  const findings: Finding[] = [];
  for (const path of paths) findings.push(...(await readPath(context, path, reading)));
  return { folder: reading.folder(), findings };
}

/** Reads the manifests of a folder, of a file, or, for `-`, of the standard input. */
async function readPath(
  context: CommandContext,
  dir: string,
  reading: FolderReading,
): Promise<readonly Finding[]> {
  if (dir === '-') return reading.add('<stdin>', await readText(context));
  if (await isFile(dir)) return reading.add(shown('', dir), await readFile(dir, 'utf8'));
  const findings: Finding[] = [];
  const reader = new FolderReader(dir, () => context.clock.wall().getTime());
  for await (const news of reader.news()) {
    context.signal.throwIfAborted();
    const file = shown(dir, news.file);
    if ('problem' in news) {
      const place = { file, line: 1, column: 1, object: undefined, field: '' };
      findings.push(
        finding('unreadable-file', { ...place, message: news.problem, remedy: 'make it readable' }),
      );
    } else if (news.text !== undefined) {
      findings.push(...reading.add(file, news.text));
    }
  }
  return findings;
}

/** The path from the working directory, as code scanning needs it; the absolute path for files elsewhere. */
function shown(dir: string, file: string): string {
  const path = resolve(dir, file);
  const below = relative('', path);
  return (below.startsWith('..') ? path : below).split(sep).join('/');
}

/** Whether a path is a file and not a folder. Throws CommandError if it is neither, or too large. */
async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return false;
  if (found?.isFile() !== true) throw new CommandError(exitCodes.unavailable, `${path} does not exist.`);
  if (found.size <= mostPiped) return true;
  throw new CommandError(exitCodes.invalid, `${path} has more than ${mostPiped} bytes; split it.`);
}

/** Most bytes that may be piped in: those of the largest file. */
const mostPiped = 256 * 1024 * 1024;

async function readText({ stdin }: CommandContext): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stdin) {
    pieces.push(Buffer.from(piece));
    bytes += piece.length;
    if (bytes <= mostPiped) continue;
    throw new CommandError(exitCodes.invalid, `stdin has more than ${mostPiped} bytes; check it in parts.`);
  }
  return Buffer.concat(pieces).toString('utf8');
}

const tints: Readonly<Record<Level, Tint>> = { error: 'bad', warning: 'warn', note: 'faint' };

const columns: readonly Column<Finding>[] = [
  { title: 'PLACE', cell: ({ file, line, column }) => `${file}:${line}:${column}` },
  { title: 'LEVEL', cell: ({ level }) => level, tint: ({ level }) => tints[level] },
  { title: 'RULE', cell: ({ rule }) => rule },
  { title: 'MESSAGE', cell: sentence },
];

async function print(
  context: CommandContext,
  format: CheckFlags['output'],
  findings: Finding[],
): Promise<void> {
  if (format === 'sarif') return printData(context, 'json', sarif(findings, productVersion()));
  if (format !== 'table') return printData(context, format, { findings });
  if (findings.length > 0) context.out.write(listText(context, 'table', { items: findings, columns }));
}

function summary({ files, objects, foreign }: CheckedFolder, findings: readonly Finding[]): string {
  const count = (level: Level): string => {
    const found = findings.filter((each) => each.level === level).length;
    return `${found} ${level}${found === 1 ? '' : 's'}`;
  };
  const passed = foreign === 0 ? '' : `, left out ${foreign} of other kinds`;
  const read = `Checked ${objects.length} object${objects.length === 1 ? '' : 's'} in ${files} file${files === 1 ? '' : 's'}${passed}`;
  return `${read}: ${count('error')}, ${count('warning')}, ${count('note')}.`;
}
