import { styleText } from 'node:util';

/** How a cell is coloured on a terminal. */
export type Tint = 'good' | 'bad' | 'warn' | 'faint';

interface Cell {
  readonly text: string;
  readonly tint: Tint | undefined;
}

const styles = { good: 'green', bad: 'red', warn: 'yellow', faint: 'dim' } as const;
const gap = 3;

/**
 * Rows with aligned columns, a line each. The last column is not padded.
 * `widths` are the minimum widths of the columns; this call raises them, so that rows printed later align with these.
 */
export function table(rows: readonly (readonly Cell[])[], colour: boolean, widths: number[] = []): string {
  const printed = rows.map((row) => row.map(({ text, tint }) => ({ text: oneLine(text), tint })));
  for (const row of printed) {
    for (const [index, { text }] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, columns(text));
    }
  }
  return printed
    .map((row) => {
      const cells = row.map(({ text, tint }, index) => {
        const padding = index === row.length - 1 ? 0 : (widths[index] ?? 0) + gap - columns(text);
        return tinted(text, tint, colour) + ' '.repeat(padding);
      });
      return `${cells.join('').trimEnd()}\n`;
    })
    .join('');
}

/** Cells without a colour. */
export function plainCells(...texts: string[]): Cell[] {
  return texts.map((text) => ({ text, tint: undefined }));
}

/** Coloured text for a terminal; the text itself elsewhere. */
export function tinted(text: string, tint: Tint | undefined, colour: boolean): string {
  if (!colour || tint === undefined || text === '') return text;
  return styleText(styles[tint], text, { validateStream: false });
}

/** Text without characters that control a terminal: line ends become blanks, control characters `\u{…}`. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/\s+/g, (blank) => (blank.includes('\n') ? ' ' : blank))
    .replaceAll('\t', ' ')
    .replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** Columns of a terminal that a text takes: two for East Asian wide characters and emoji. */
function columns(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const char of text) {
    if (/\p{Mn}|\p{Me}|\p{Cf}/u.test(char)) continue;
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
        char,
      )
        ? 2
        : 1;
  }
  return width;
}
