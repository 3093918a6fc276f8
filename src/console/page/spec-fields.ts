import { type FieldProps, inputOf, namesIn, type Problems } from './field.ts';
import { html, useState, type View } from './htm-preact.js';
import { ModelNamesField } from './model-names-field.ts';
import { Refusal } from './server.ts';
import type { FieldSchema, Fields } from './spec-edits.ts';
import { choiceLabel, hintAt, labelAt } from './words.ts';

type Input = { currentTarget: HTMLInputElement };
/** Examples in empty inputs whose format is not obvious. */
const examples: Readonly<Record<string, string>> = { 'spec.baseURL': 'https://api.openai.com/v1' };

/** The allowlist of a key. `models` of a node are entries with wishes, and are edited on their own page. */
const modelNames = 'spec.models';

/** The fields that the server named when it refused; none for any other error. */
export function problemsIn(error: unknown): Problems {
  if (!(error instanceof Refusal)) return new Map();
  return new Map(error.causes.map(({ field, message }) => [field, message]));
}

/** Some fields of a form's spec: forms show them in parts. */
export function fieldsOfSpec(
  form: Pick<SpecFieldsProps, 'schema' | 'values' | 'disabled' | 'onChange'>,
): (names: readonly string[], problems: Problems) => View {
  return (names, problems) =>
    html`<${SpecFields} path="spec" ...${form} names=${names} problems=${problems} />`;
}

interface SpecFieldsProps {
  readonly path: string;
  readonly schema: FieldSchema;
  readonly names: readonly string[];
  readonly values: Fields;
  readonly disabled: boolean;
  readonly problems: Problems;
  readonly onChange: (values: Fields) => void;
}

/** The fields of an object, made from its schema: with the server's texts, bounds and choices. */
function SpecFields(props: SpecFieldsProps): View {
  const { path, schema, names, values, disabled, problems, onChange } = props;
  return html`${names.map((name) => {
    const member = schema.properties?.[name];
    return (
      member &&
      html`<${Field}
        key=${name}
        name=${name}
        path=${`${path}.${name}`}
        schema=${member}
        required=${schema.required?.includes(name) ?? false}
        value=${values[name]}
        disabled=${disabled}
        problems=${problems}
        onChange=${(value: unknown) => onChange({ ...values, [name]: value })}
      />`
    );
  })}`;
}

function Field(props: FieldProps): View {
  const { path, schema, value, disabled, problems, onChange } = props;
  if (schema.properties !== undefined) {
    const fields = typeof value === 'object' && value !== null ? (value as Fields) : {};
    return html`<details open=${[...problems.keys()].some((field) => field.startsWith(path))}>
      <summary><span>${labelAt(path)}</span> <small class="muted">${hintAt(path, schema.description)}</small></summary>
      <div class="fields">
        <${SpecFields}
          path=${path}
          schema=${schema}
          names=${Object.keys(schema.properties)}
          values=${fields}
          disabled=${disabled}
          problems=${problems}
          onChange=${onChange}
        />
      </div>
    </details>`;
  }
  if (schema.items?.properties !== undefined) return EntriesField(props);
  if (schema.items?.enum !== undefined) return ChoicesField(props);
  if (schema.type === 'boolean') {
    return inputOf(
      props,
      (names) => html`<input
        type="checkbox"
        role="switch"
        ...${names}
        disabled=${disabled}
        checked=${value ?? schema.default ?? false}
        onChange=${(event: Input) => onChange(event.currentTarget.checked)}
      />`,
      true,
    );
  }
  if (schema.enum !== undefined) {
    const choices = schema.enum;
    const chosen = value ?? schema.default ?? '';
    return inputOf(
      props,
      (names) => html`<select
        ...${names}
        disabled=${disabled}
        onChange=${(event: { currentTarget: HTMLSelectElement }) => onChange(event.currentTarget.value)}
      >
        ${schema.default === undefined && html`<option value="">not set</option>`}
        ${choices.map((choice) => html`<option value=${choice} selected=${choice === chosen}>${choiceLabel(path, choice)}</option>`)}
      </select>`,
    );
  }
  if (path === modelNames) return html`<${ModelNamesField} ...${props} />`;
  if (schema.type === 'array') return html`<${ListField} ...${props} />`;
  if (schema.type === 'integer') {
    return inputOf(
      props,
      (names) => html`<input
        ...${names}
        type="number"
        step="1"
        min=${schema.minimum}
        max=${schema.maximum}
        disabled=${disabled}
        placeholder=${schema.default}
        value=${value ?? ''}
        onInput=${(event: Input) => onChange(numberOf(event.currentTarget.value))}
      />`,
    );
  }
  if (schema.format === 'date-time') {
    return inputOf(
      props,
      (names) => html`<input
        ...${names}
        type="datetime-local"
        disabled=${disabled}
        value=${typeof value === 'string' ? localTime(value) : ''}
        onChange=${(event: Input) => onChange(rfc3339(event.currentTarget.value))}
      />`,
    );
  }
  const long = (schema.maxLength ?? 0) > 4_096;
  return inputOf(
    props,
    (names) => html`<${long ? 'textarea' : 'input'}
      ...${names}
      disabled=${disabled}
      placeholder=${examples[path]}
      value=${value ?? ''}
      required=${props.required}
      onInput=${(event: Input) => onChange(event.currentTarget.value)}
    />`,
  );
}

/** A list of texts: one per line, or separated by commas. The typed text is not reformatted. */
function ListField(props: FieldProps): View {
  const { value, disabled, onChange } = props;
  const lines = (Array.isArray(value) ? value : []).map(String);
  const [text, setText] = useState(lines.join('\n'));
  // A list that grew while its button is pressed would move the button away from under the pointer.
  const [rows] = useState(Math.min(10, Math.max(3, lines.length + 1)));
  const shown = namesIn(text).join('\n') === lines.join('\n') ? text : lines.join('\n');
  return inputOf(
    props,
    (names) => html`<textarea
      ...${names}
      rows=${rows}
      disabled=${disabled}
      placeholder="One per line, or separated by commas"
      value=${shown}
      onInput=${(event: { currentTarget: HTMLTextAreaElement }) => {
        setText(event.currentTarget.value);
        onChange(namesIn(event.currentTarget.value));
      }}
    ></textarea>`,
  );
}

function ChoicesField({ path, schema, value, disabled, onChange }: FieldProps): View {
  const chosen = new Set(Array.isArray(value) ? value : []);
  return html`<fieldset>
    <legend>${labelAt(path)}</legend>
    ${(schema.items?.enum ?? []).map(
      (choice) => html`<label>
        <input
          type="checkbox"
          disabled=${disabled}
          checked=${chosen.has(choice)}
          onChange=${(event: Input) => {
            if (event.currentTarget.checked) chosen.add(choice);
            else chosen.delete(choice);
            onChange([...chosen]);
          }}
        /> ${choice}
      </label>`,
    )}
    <small>${hintAt(path, schema.description)}</small>
  </fieldset>`;
}

/** A list of named entries, such as headers: each with its own fields. */
function EntriesField(props: FieldProps): View {
  const { path, schema, value, disabled, problems, onChange } = props;
  const entries = (Array.isArray(value) ? value : []) as readonly Fields[];
  const item = schema.items ?? {};
  return html`<fieldset>
    <legend>${labelAt(path)}</legend>
    <small>${hintAt(path, schema.description)}</small>
    ${entries.map(
      (entry, index) => html`<div class="entry fields">
        <${SpecFields}
          path=${`${path}[${index}]`}
          schema=${item}
          names=${Object.keys(item.properties ?? {})}
          values=${entry}
          disabled=${disabled}
          problems=${problems}
          onChange=${(next: Fields) => onChange(entries.map((one, at) => (at === index ? next : one)))}
        />
        <button type="button" class="outline small" disabled=${disabled} onClick=${() => onChange(entries.filter((_, at) => at !== index))}>
          Remove this one
        </button>
      </div>`,
    )}
    ${problems.get(path) && html`<small class="wrong">${problems.get(path)}</small>`}
    <button type="button" class="outline small" disabled=${disabled} onClick=${() => onChange([...entries, { name: '' }])}>Add one</button>
  </fieldset>`;
}

function numberOf(text: string): number | string {
  return text.trim() === '' || !Number.isFinite(Number(text)) ? text : Number(text);
}

/** What a `datetime-local` input takes: the time in the reader's zone, without one. */
function localTime(time: string): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function rfc3339(local: string): string {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString().replace('.000Z', 'Z');
}
