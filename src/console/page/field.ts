import type { View } from './htm-preact.js';
import { type InputNames, labelled } from './labelled.ts';
import type { FieldSchema } from './spec-edits.ts';
import { choiceLabel, hintAt, labelAt } from './words.ts';

/** What is wrong with fields, by their path (`spec.priority`). */
export type Problems = ReadonlyMap<string, string>;
/** What the inputs of a form are made from. */
export interface FieldProps {
  readonly name: string;
  readonly path: string;
  readonly schema: FieldSchema;
  readonly required: boolean;
  readonly value: unknown;
  readonly disabled: boolean;
  readonly problems: Problems;
  readonly onChange: (value: unknown) => void;
}

/** A field with its label, its hint from the schema and what is wrong with it. */
export function inputOf(props: FieldProps, input: (names: InputNames) => View, inline = false): View {
  const { path, schema, required, problems } = props;
  const hint = `${hintAt(path, schema.description)} ${boundsOf(path, schema)}`;
  return labelled(
    { id: path, label: labelAt(path), hint, wrong: problems.get(path), required, inline },
    input,
  );
}

function boundsOf(path: string, { minimum, maximum, default: standard }: FieldSchema): string {
  const bounds = minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}` : '';
  // Only texts and numbers need this hint: a switch whose field is absent already shows the default.
  const isShown = ['string', 'number'].includes(typeof standard);
  const unset = isShown ? `default ${choiceLabel(path, standard)}` : '';
  const facts = [bounds, unset].filter((fact) => fact !== '').join(', ');
  return facts === '' ? '' : `(${facts})`;
}

/** Names that people typed one per line or separated by commas; each once. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\n,]/).map((name) => name.trim()))].filter((name) => name !== '');
}
