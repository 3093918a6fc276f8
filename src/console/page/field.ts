import type { View } from './htm-preact.js';
import { type InputNames, labelled } from './labelled.ts';
import type { FieldEdit } from './server.ts';
import type { FieldSchema } from './spec-edits.ts';

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
  const { name, path, schema, required, problems } = props;
  const hint = `${schema.description ?? ''} ${boundsOf(schema)}`;
  return labelled(
    { id: path, label: labelOf(name), hint, wrong: problems.get(path), required, inline },
    input,
  );
}

function boundsOf({ minimum, maximum, default: standard }: FieldSchema): string {
  const bounds = minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}` : '';
  const unset =
    standard === undefined || typeof standard === 'object' ? '' : `default ${JSON.stringify(standard)}`;
  const facts = [bounds, unset].filter((fact) => fact !== '').join(', ');
  return facts === '' ? '' : `(${facts})`;
}

/** Names that people typed one per line or separated by commas; each once. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\n,]/).map((name) => name.trim()))].filter((name) => name !== '');
}

/** The labels on the way to a field: `Timeouts › Connect seconds`. */
export function pathLabel(path: FieldEdit['path']): string {
  const [, ...steps] = path;
  return steps.map((step) => (typeof step === 'string' ? labelOf(step) : step.name)).join(' › ');
}

/** `firstByteSeconds` as people say it: First byte seconds. */
export function labelOf(name: string): string {
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2');
  return words
    .split(' ')
    .map((word, index) => {
      if (/^[A-Z]{2,}$/.test(word)) return word;
      const lower = word.toLowerCase();
      return index === 0 ? lower.charAt(0).toUpperCase() + lower.slice(1) : lower;
    })
    .join(' ');
}
