import { html, type View } from './htm-preact.js';
import { labelled } from './labelled.ts';

/** The name of a resource that is being made. */
export function nameField(props: {
  readonly value: string;
  readonly hint: string;
  readonly wrong: string | undefined;
  readonly disabled: boolean;
  readonly onChange: (name: string) => void;
}): View {
  const { value, hint, wrong, disabled, onChange } = props;
  return labelled(
    { id: 'metadata.name', label: 'Name', hint, wrong, required: true },
    (names) => html`<input
      ...${names}
      required
      autofocus
      autocomplete="off"
      maxlength="253"
      value=${value}
      disabled=${disabled}
      onInput=${(event: { currentTarget: HTMLInputElement }) => onChange(event.currentTarget.value)}
    />`,
  );
}
