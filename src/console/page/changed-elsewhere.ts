import type { Base, Draft } from './draft.ts';
import { html, type View } from './htm-preact.js';
import { labelOf } from './words.ts';

/** Reports that a declaration changed while the reader was editing it. */
export function ChangedElsewhere({
  draft,
  current,
}: {
  draft: Draft<unknown>;
  current: Base;
}): View | undefined {
  if (!draft.isBehind) return undefined;
  const { spec } = draft.base;
  const names = new Set([...Object.keys(spec), ...Object.keys(current.spec)]);
  const changed = [...names].filter(
    (name) => JSON.stringify(spec[name]) !== JSON.stringify(current.spec[name]),
  );
  if (changed.length === 0) return undefined;
  return html`<p class="problem" role="status">
    This was changed since you began: ${changed.map(labelOf).join(', ')}. Nothing of yours is stored yet, and a save shows both.
    <button type="button" class="outline small" onClick=${draft.discard}>Discard mine</button>
  </p>`;
}
