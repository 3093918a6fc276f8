import { Dialog } from './dialog.ts';
import { html, useState, type View } from './htm-preact.js';
import { labelled } from './labelled.ts';

type Input = { currentTarget: HTMLInputElement };

/** Asks for a pattern of models that are left out from now on. */
export function LeaveOutDialog(props: {
  /** The last pattern that was tried and is too broad, if there was one. */
  readonly why: string | undefined;
  readonly proposed: string;
  readonly onClose: () => void;
  readonly onPattern: (pattern: string) => void;
}): View {
  const { why, proposed, onClose, onPattern } = props;
  const [pattern, setPattern] = useState(proposed);
  return html`<${Dialog} title="Leave models out by pattern" onClose=${onClose}>
    <form
      onSubmit=${(event: Event) => {
        event.preventDefault();
        if (pattern.trim() !== '') onPattern(pattern.trim());
      }}
    >
      ${why && html`<p class="problem">${why}</p>`}
      <p>Models of the node's list that fit are left out at once, now and after each synchronization. Models that you entered by hand stay.</p>
      ${labelled(
        {
          id: 'leave-out-pattern',
          label: 'Pattern',
          hint: 'Matches the complete name: * is any text, ? is one character. Upper and lower case differ.',
        },
        (names) => html`<input ...${names} autofocus autocomplete="off" maxlength="256" value=${pattern}
          onInput=${(event: Input) => setPattern(event.currentTarget.value)} />`,
      )}
      <footer>
        <button type="button" class="secondary" onClick=${onClose}>Cancel</button>
        <button type="submit" disabled=${pattern.trim() === ''}>Leave out</button>
      </footer>
    </form>
  <//>`;
}
