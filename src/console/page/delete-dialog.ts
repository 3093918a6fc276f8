import { changedHere, whileGoing } from './detail.ts';
import { Dialog } from './dialog.ts';
import { html, useState, type View } from './htm-preact.js';
import { done, failed } from './notices.ts';
import { type Ref, remove } from './server.ts';

/** Deletes a resource after its name was typed. `what` describes the consequences. */
export function DeleteDialog(props: {
  readonly ref_: Ref;
  readonly version: string;
  readonly what: string;
  /** Set for a key: deleting it revokes it. */
  readonly revokes?: true;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}): View {
  const { ref_: ref, version, what, revokes, onClose, onDeleted } = props;
  const [act, acted] = revokes ? ['Revoke', 'Revoked'] : ['Delete', 'Deleted'];
  const [typed, setTyped] = useState('');
  const go = async (): Promise<void> => {
    try {
      await whileGoing(ref, async () => {
        await remove(ref, version);
        done(`${acted} ${ref.name}.`);
        onDeleted();
      });
    } catch (error) {
      failed(error);
      changedHere(ref);
    }
    onClose();
  };
  return html`<${Dialog} title=${`${act} ${ref.name}?`} onClose=${onClose}>
    <form
      onSubmit=${(event: Event) => {
        event.preventDefault();
        if (typed === ref.name) void go();
      }}
    >
      <p>${what} This cannot be undone.</p>
      <label>
        <span>Type <strong>${ref.name}</strong> to confirm</span>
        <input value=${typed} autocomplete="off" autofocus onInput=${(event: { currentTarget: HTMLInputElement }) => setTyped(event.currentTarget.value)} />
      </label>
      <footer>
        <button type="button" class="secondary" onClick=${onClose}>Cancel</button>
        <button type="submit" class="danger" disabled=${typed !== ref.name}>${act}</button>
      </footer>
    </form>
  <//>`;
}
