import { type Command, Option } from 'commander';
import type { Resource } from '../resources/resource.ts';
import type { CommandContext } from './context.ts';
import { type Tint, table } from './table.ts';

const outputFormats = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** What every command that prints data takes. */
export interface OutputFlags {
  readonly output: OutputFormat;
}

/** A column of a table. Cells are made safe to print, because a model's name may contain anything. */
export interface Column<T> {
  /** The title, in capitals as kubectl writes it. */
  readonly title: string;
  cell(item: T): string;
  /** Shown with `-o wide` only. */
  readonly wide?: true;
  /** How the cell is coloured on a terminal. */
  tint?(item: T): Tint | undefined;
}

/** Adds `-o, --output`. */
export function withOutput(command: Command, formats: readonly OutputFormat[] = outputFormats): Command {
  const [first = 'table'] = formats;
  const option = new Option('-o, --output <format>', formats.join(', ')).choices(formats).default(first);
  return command.addOption(option);
}

/** How a list is printed. */
export interface Listing<T> {
  readonly items: readonly T[];
  readonly columns: readonly Column<T>[];
  /** What `-o json` and `-o yaml` print for an item. */
  object(item: T): unknown;
  /** What `-o name` prints. */
  name(item: T): string;
  /** Printed on stderr in place of an empty table: `No nodes found in namespace default.` */
  readonly none: string;
}

/** Prints a list in the format asked for; JSON and YAML as `kind: List`, as kubectl does. */
export async function printList<T>(
  context: CommandContext,
  format: OutputFormat,
  listing: Listing<T>,
): Promise<void> {
  const { items } = listing;
  switch (format) {
    case 'json':
    case 'yaml': {
      const list = { apiVersion: 'v1', kind: 'List', items: items.map(listing.object), metadata: {} };
      return printData(context, format, list);
    }
    case 'name':
      for (const item of items) context.out.write(`${listing.name(item)}\n`);
      return;
    default:
      if (items.length === 0) context.err.write(`${listing.none}\n`);
      else context.out.write(listText(context, format, listing));
  }
}

/** Prints one resource in the format asked for; `text` is what people read. */
export async function printResource(
  context: CommandContext,
  format: OutputFormat,
  resource: Resource,
  text: () => string,
): Promise<void> {
  if (format === 'json' || format === 'yaml') return printData(context, format, resource);
  context.out.write(format === 'name' ? `${resourceName(resource)}\n` : text());
}

/** Prints one object as JSON or YAML. */
export async function printData(
  context: CommandContext,
  format: 'json' | 'yaml',
  data: unknown,
): Promise<void> {
  if (format === 'json') {
    context.out.write(`${JSON.stringify(data, null, 4)}\n`);
    return;
  }
  const { stringify } = await import('yaml');
  context.out.write(stringify(data, { lineWidth: 0, aliasDuplicateObjects: false }));
}

/** A table for people, with the title line unless `titles` is false; for `widths` see `table`. */
export function listText<T>(
  context: CommandContext,
  format: 'table' | 'wide',
  { items, columns }: Pick<Listing<T>, 'items' | 'columns'>,
  titles = true,
  widths: number[] = [],
): string {
  const shown = columns.filter((column) => format === 'wide' || column.wide !== true);
  const rows = items.map((item) =>
    shown.map((column) => ({ text: column.cell(item), tint: column.tint?.(item) })),
  );
  return table(
    titles ? [shown.map(({ title }) => ({ text: title, tint: undefined })), ...rows] : rows,
    hasColour(context),
    widths,
  );
}

/** Whether stdout may be coloured: it is a terminal, and neither NO_COLOR (no-color.org) nor TERM=dumb is set. */
export function hasColour({ isTerminal, env }: CommandContext): boolean {
  return isTerminal.stdout && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}

const plurals = {
  UpstreamNode: 'upstreamnode',
  APIKey: 'apikey',
  MasterKey: 'masterkey',
  Secret: 'secret',
} as const;

/** A resource as `-o name` writes it, which kubectl takes back: `upstreamnode.modelgateway.dev/openai`. */
export function resourceName({ kind, metadata }: Resource): string {
  return `${plurals[kind]}${kind === 'Secret' ? '' : '.modelgateway.dev'}/${metadata.name}`;
}
