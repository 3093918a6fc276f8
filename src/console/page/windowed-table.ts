import { type Child, html, useEffect, useRef, useState, type View } from './htm-preact.js';
import { setQuery, useAddress } from './router.ts';

/** One column of a table. `sort` gives what rows are ordered by; without it the column cannot be sorted. */
export interface Column<R> {
  readonly title: string;
  readonly cell: (row: R) => Child;
  readonly sort?: (row: R) => string | number;
  readonly numeric?: true;
  /** Left out on narrow screens. */
  readonly wide?: true;
}

const rowHeight = 44;
const spare = 8;

/**
 * A table that has only its visible rows in the document: a thousand rows scroll as smoothly as ten. Every row is
 * `rowHeight` pixels high. Ticked rows are identified by `idOf`.
 */
export function WindowedTable<R>(props: {
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly idOf: (row: R) => string;
  readonly nameOf: (row: R) => string;
  readonly ticked: ReadonlySet<string>;
  readonly onTick: (ticked: ReadonlySet<string>) => void;
}): View {
  const { label, columns, rows, idOf, nameOf, ticked, onTick } = props;
  const order = orderOf(useAddress().query.get('sort') ?? '', columns);
  const [view, setView] = useState<RowsInSight>({ top: 0, height: 800 });
  const [focusedRow, setFocusedRow] = useState<number | undefined>(undefined);
  const frame = useRef<HTMLElement | null>(null);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const seen = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const focused = ({ target }: Event): void => {
      const row = target instanceof Element ? target.closest('tr')?.getAttribute('aria-rowindex') : undefined;
      setFocusedRow(row ? Number(row) - 2 : undefined);
      if (row) setView((view) => around(view, Number(row) - 2));
    };
    const left = ({ relatedTarget }: FocusEvent): void => {
      if (!(relatedTarget instanceof Node && element.contains(relatedTarget))) setFocusedRow(undefined);
    };
    seen();
    element.addEventListener('scroll', seen, { passive: true });
    element.addEventListener('focusin', focused);
    element.addEventListener('focusout', left);
    const resized = new ResizeObserver(seen);
    resized.observe(element);
    return () => {
      element.removeEventListener('scroll', seen);
      element.removeEventListener('focusin', focused);
      element.removeEventListener('focusout', left);
      resized.disconnect();
    };
  }, []);

  const sorted = inOrder(rows, columns[order.column]?.sort, order.down);
  const drawn = drawnRows(view, focusedRow, sorted.length);
  const allTicked = rows.length > 0 && rows.every((row) => ticked.has(idOf(row)));

  const tick = (row: R, on: boolean): void => {
    const next = new Set(ticked);
    if (on) next.add(idOf(row));
    else next.delete(idOf(row));
    onTick(next);
  };
  const sortBy = (column: number): void => {
    const down = order.column === column && !order.down;
    setQuery('sort', column === 0 && !down ? '' : `${down ? '-' : ''}${slug(columns[column]?.title ?? '')}`);
  };

  return html`<div class="table-frame" ref=${frame} tabindex="0" role="region" aria-label=${label}>
    <table aria-rowcount=${rows.length + 1}>
      <thead>
        <tr aria-rowindex="1">
          <th scope="col" class="tick">
            <input
              type="checkbox"
              aria-label="Select all that are shown"
              checked=${allTicked}
              onChange=${() => onTick(new Set(allTicked ? [] : rows.map(idOf)))}
            />
          </th>
          ${columns.map(
            ({ title, sort, numeric, wide }, index) => html`<th
              scope="col"
              class=${classes(numeric, wide)}
              aria-sort=${order.column === index ? (order.down ? 'descending' : 'ascending') : undefined}
            >
              ${sort === undefined ? title : html`<button class="sort" onClick=${() => sortBy(index)}>${title}</button>`}
            </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${drawn.flatMap(({ first, end, skipped }, part) => [
          space(part === 0 ? 'above' : 'between', skipped),
          ...sorted.slice(first, end).map(
            (
              row,
              index,
            ) => html`<tr key=${idOf(row)} aria-rowindex=${first + index + 2} class=${ticked.has(idOf(row)) ? 'ticked' : ''}>
            <td class="tick">
              <input
                type="checkbox"
                aria-label=${`Select ${nameOf(row)}`}
                checked=${ticked.has(idOf(row))}
                onChange=${(event: { currentTarget: HTMLInputElement }) => tick(row, event.currentTarget.checked)}
              />
            </td>
            ${columns.map(
              ({ cell, numeric, wide }) => html`<td class=${classes(numeric, wide)}>${cell(row)}</td>`,
            )}
          </tr>`,
          ),
        ])}
        ${space('below', sorted.length - (drawn.at(-1)?.end ?? 0))}
      </tbody>
    </table>
  </div>`;
}

interface RowsInSight {
  readonly top: number;
  readonly height: number;
}

/**
 * The rows to render when a row gets the focus. The browser reports scrolling only with the next frame: until then, quick
 * presses of a key would pass the last row in the document and leave the table.
 */
function around(view: RowsInSight, row: number): RowsInSight {
  const { top, height } = view;
  const at = row * rowHeight;
  const isInside = at >= top && at + rowHeight <= top + height;
  return isInside || row < 0 ? view : { top: Math.max(0, at - height / 2), height };
}

/** Rows that are in the document: from `first` to before `end`, after `skipped` rows that are not. */
interface DrawnRows {
  readonly first: number;
  readonly end: number;
  readonly skipped: number;
}

/**
 * The visible rows, and the row that has the focus with its neighbours, wherever it is: if it left the document, Tab would
 * start at the top of the page.
 */
function drawnRows({ top, height }: RowsInSight, focused: number | undefined, count: number): DrawnRows[] {
  const first = Math.min(count, Math.max(0, Math.floor(top / rowHeight) - spare));
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + spare);
  const seen = { first, end };
  const kept = { first: Math.max(0, (focused ?? 0) - 1), end: Math.min(count, (focused ?? 0) + 2) };
  if (focused === undefined || focused >= count) return [{ ...seen, skipped: first }];
  const [one, other] = kept.first < first ? [kept, seen] : [seen, kept];
  if (other.first <= one.end) {
    return [{ first: one.first, end: Math.max(one.end, other.end), skipped: one.first }];
  }
  return [
    { ...one, skipped: one.first },
    { ...other, skipped: other.first - one.end },
  ];
}

/**
 * A row with the height of the rows that are not in the document: without it the table would scroll no further than its
 * rows, and Tab would leave it. It exists even with height 0, because inserting it before the other rows would move them, and
 * a moved element loses the focus. A style, because the style of all cells overrides the attribute `height`.
 */
function space(key: string, rows: number): View {
  return html`<tr key=${`space ${key}`} class="space" aria-hidden="true"><td style=${{ height: `${rows * rowHeight}px` }}></td></tr>`;
}

function classes(numeric: true | undefined, wide: true | undefined): string {
  return `${numeric ? 'numeric ' : ''}${wide ? 'wide' : ''}`;
}

/** The order in the address: `weight`, or `-weight` for descending. By default that of the first column. */
function orderOf(asked: string, columns: readonly Column<never>[]): { column: number; down: boolean } {
  const column = columns.findIndex(({ title }) => slug(title) === asked.replace(/^-/, ''));
  return column < 0 ? { column: 0, down: asked === '-' } : { column, down: asked.startsWith('-') };
}

function slug(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-');
}

const collator = new Intl.Collator(undefined, { numeric: true });

function inOrder<R>(
  rows: readonly R[],
  by: ((row: R) => string | number) | undefined,
  down: boolean,
): readonly R[] {
  if (by === undefined) return rows;
  const keyed = rows.map((row) => ({ row, key: by(row) }));
  keyed.sort((one, other) =>
    typeof one.key === 'number' && typeof other.key === 'number'
      ? one.key - other.key
      : collator.compare(String(one.key), String(other.key)),
  );
  if (down) keyed.reverse();
  return keyed.map(({ row }) => row);
}
