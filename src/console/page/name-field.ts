import { html, type View } from './htm-preact.js';
import { labelled } from './labelled.ts';

type Input = { currentTarget: HTMLInputElement };

/** The name of a new resource. */
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
      onInput=${(event: Input) => onChange(event.currentTarget.value)}
    />`,
  );
}

/** Its namespace. */
export function namespaceField(props: {
  readonly value: string;
  readonly wrong: string | undefined;
  readonly disabled: boolean;
  readonly onChange: (namespace: string) => void;
}): View {
  const { value, wrong, disabled, onChange } = props;
  return labelled(
    { id: 'metadata.namespace', label: 'Namespace', wrong },
    (names) =>
      html`<input ...${names} value=${value} disabled=${disabled} onInput=${(event: Input) => onChange(event.currentTarget.value)} />`,
  );
}
