import { html, type View } from './htm-preact.js';
import { type DiffLine, lineDiff } from './line-diff.ts';

const marks: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', old: '-', new: '+' };
/** Lines that stay the same are shown this far around a change. */
const around = 3;

/** What changes between two texts, line by line; far from a change equal lines are left out. */
export function DiffView({ before, after }: { before: string; after: string }): View {
  const lines = lineDiff(before, after);
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ kind }) => kind !== 'same'),
  );
  const shown = near.some(Boolean) ? near : lines.map(() => true);
  return html`<pre class="diff" tabindex="0" aria-label="Changes in YAML">${lines.map((line, index) =>
    shown[index]
      ? html`<span class=${`line ${line.kind}`}>${marks[line.kind]} ${line.text}${'\n'}</span>`
      : shown[index - 1] && html`<span class="line gap">…${'\n'}</span>`,
  )}</pre>`;
}
