import { html, useEffect, useState, type View } from './htm-preact.js';
import { useAddress } from './router.ts';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly kind: 'done' | 'failed';
  readonly undo: (() => void) | undefined;
}

let notices: readonly Notice[] = [];
let last = 0;
const watchers = new Set<() => void>();
const doneMs = 8_000;

function put(next: readonly Notice[]): void {
  notices = next;
  for (const watcher of watchers) watcher();
}

/** Reports that something was done, and offers for a few seconds to undo it if that is possible. */
export function done(text: string, undo?: () => void): void {
  const id = ++last;
  put([...notices.slice(-3), { id, text, kind: 'done', undo }]);
  setTimeout(() => dismiss(id), doneMs);
}

/** Reports what failed and the remedy; stays until it is dismissed, or its page is left. */
export function failed(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  put([...notices.slice(-3), { id: ++last, text, kind: 'failed', undo: undefined }]);
}

function dismiss(id: number): void {
  put(notices.filter((notice) => notice.id !== id));
}

/** The notices, which screen readers read out as they appear. */
export function Notices(): View {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watcher = (): void => redraw((count) => count + 1);
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, []);
  const page = useAddress().parts.join('/');
  // A failure of the previous page would look like a failure of the next action.
  useEffect(() => {
    put(notices.filter(({ kind }) => kind === 'done'));
    return undefined;
  }, [page]);
  return html`<div class="notices" role="status" aria-live="polite">
    ${notices.map(
      ({ id, text, kind, undo }) => html`<div class=${`notice ${kind}`} key=${id}>
        <span>${text}</span>
        ${
          undo &&
          html`<button
            class="outline small"
            onClick=${() => {
              dismiss(id);
              undo();
            }}
          >Undo</button>`
        }
        <button class="outline small" aria-label="Dismiss" onClick=${() => dismiss(id)}>✕</button>
      </div>`,
    )}
  </div>`;
}
