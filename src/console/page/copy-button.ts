import { html, useState, type View } from './htm-preact.js';
import { failed } from './notices.ts';

/** Copies a text to the clipboard. */
export function CopyButton({ text, what }: { text: string; what: string }): View {
  const [copied, setCopied] = useState(false);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => {
        setCopied(true);
        setTimeout(() => setCopied(false), 2_000);
      },
      () => failed('The browser did not allow copying; select the text and copy it by hand.'),
    );
  };
  return html`<button type="button" class="outline small" aria-label=${`Copy ${what}`} onClick=${copy}>${copied ? 'Copied' : 'Copy'}</button>`;
}
