import { ago } from './ago.ts';
import type { Declared } from './edit/declarations.ts';
import { type Tint, table } from './table.ts';

/** When and how something is shown to people. */
export interface Shown {
  readonly now: Date;
  readonly colour: boolean;
}

/** A named value of a resource; one that is undefined or empty is left out. */
export type Row = readonly [name: string, value: string | undefined, tint?: Tint | undefined];

/** The rows as an aligned list: `Name:   value`. */
export function rowsText(rows: readonly Row[], { colour }: Shown): string {
  const cells = rows.flatMap(([name, text, tint]) =>
    text === undefined || text === ''
      ? []
      : [
          [
            { text: `${name}:`, tint: undefined },
            { text, tint },
          ],
        ],
  );
  return table(cells, colour);
}

/** The sections that are not empty, with a blank line between them. */
export function sectionsText(...sections: readonly string[]): string {
  return sections.filter((section) => section !== '').join('\n');
}

/** Where a resource is declared, and who manages it. */
export function sourceRows({ source, kept, managedBy }: Declared): Row[] {
  return [
    ['Declared in', source],
    ['Manifest', kept, 'warn'],
    ['Managed by', managedBy && `${managedBy}; it may undo changes that are made elsewhere`, 'warn'],
  ];
}

/** Whether the controller has acted on the newest manifest. */
export function controllerRow({ resource: { metadata, status } }: Declared): Row {
  const seen = status?.observedGeneration;
  const isBehind = seen !== undefined && metadata.generation !== undefined && seen < metadata.generation;
  return ['Controller', isBehind ? 'has not seen the last change yet' : undefined, 'warn'];
}

/** A time, and how long ago it was. */
export function timeText(time: string | undefined, now: Date): string {
  return time === undefined ? 'never' : `${time} (${ago(time, now)} ago)`;
}
