import type { Place } from '../shapes.ts';
import { CopyButton } from './copy-button.ts';
import { Dialog } from './dialog.ts';
import { html, type View } from './htm-preact.js';
import type { KeyKind } from './keys-page.ts';
import { pasteKey } from './pasted-key.ts';
import { go } from './router.ts';
import { Snippets } from './snippets.ts';

/** Shows a new key, the only time that it can be seen. */
export function NewKey(props: {
  readonly place: Place;
  readonly kind: KeyKind;
  readonly name: string;
  readonly value: string;
  readonly onClose: () => void;
}): View {
  const { place, kind, name, value, onClose } = props;
  const tryIt = (): void => {
    pasteKey(value);
    go('/try');
  };
  return html`<${Dialog} title=${`The key ${name}`} stays onClose=${onClose}>
    <p>Copy it now: it is shown this once and is stored nowhere. Only its hash is.</p>
    <div class="copy-line"><code class="secret" data-testid="new-key">${value}</code><${CopyButton} text=${value} what="the key" /></div>
    ${kind === 'APIKey' && html`<${Snippets} gatewayURL=${place.gatewayURL} value=${value} />`}
    <footer>
      ${kind === 'APIKey' && place.tryIt === undefined && html`<button class="secondary" onClick=${tryIt}>Try it with this key</button>`}
      <button onClick=${onClose}>I have copied it</button>
    </footer>
  <//>`;
}
