import { html, type View } from './htm-preact.js';

const meanings: Readonly<Record<string, string>> = {
  ready: 'The last check was good.',
  idle: 'Not checked yet, or no models.',
  error: 'The last check or synchronization failed.',
  offline: 'It could not be reached several times in a row.',
};

/** A node's phase as a word with a mark, not by colour alone. */
export function Phase({ phase, title }: { phase: string; title?: string }): View {
  return html`<span class=${`phase phase-${phase}`} title=${title ?? meanings[phase]}>${phase}</span>`;
}
