import type { Place } from '../shapes.ts';
import { change, declare } from './changing.ts';
import type { Problems } from './field.ts';
import { html, useEffect, useState, type View } from './htm-preact.js';
import { type InputNames, labelled } from './labelled.ts';
import { nameField, namespaceField } from './name-field.ts';
import { nodePath } from './nodes-page.ts';
import { done, failed } from './notices.ts';
import { go } from './router.ts';
import { useSchema } from './schema.ts';
import type { Ref, Wishes } from './server.ts';
import { type Fields, specEdits } from './spec-edits.ts';
import { problemsIn, SpecFields } from './spec-fields.ts';

type Input = { currentTarget: HTMLInputElement };

/** Fields that everybody looks for, in the order of the form; the others follow under "More". */
const address = ['displayName', 'baseURL'];
const first = [...address, 'enabled', 'priority', 'weight', 'manualModels', 'nativeFormats'];
/** Edited elsewhere: the credential on its own, models on their page. */
const elsewhere = ['apiKeySecretRef', 'encryptedAPIKey', 'models'];

/** The credential as the form has it: kept while nothing is typed; to remove it is an act of its own. */
interface Credential {
  readonly text: string;
  readonly clear: boolean;
}

/** Adds a node, or edits one: what is not touched stays as it is, and an empty API key keeps the key. */
export function NodeForm(props: {
  readonly place: Place;
  /** The node to edit; undefined to add one. */
  readonly node?: Ref & { readonly version: string; readonly manifest: string };
  readonly spec: Fields;
  readonly keySet: boolean;
  readonly denied: string | undefined;
}): View {
  const { place, node, spec, keySet, denied } = props;
  const schema = useSchema('UpstreamNode');
  const [values, setValues] = useState<Fields>(spec);
  const [name, setName] = useState('');
  const [namespace, setNamespace] = useState(place.namespace);
  const [credential, setCredential] = useState<Credential>({ text: '', clear: false });
  const [problems, setProblems] = useState<Problems>(new Map());
  const [busy, setBusy] = useState(false);
  const [base, setBase] = useState(spec);
  useEffect(() => {
    // Somebody else's change of a field that is not touched here shows at once; what is typed stays.
    setValues((typed) => ({ ...spec, ...touched(base, typed) }));
    setBase(spec);
    return undefined;
  }, [JSON.stringify(spec)]);
  useEffect(() => {
    document.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
    return undefined;
  }, [problems]);
  if (schema === undefined) return html`<p aria-busy="true">Reading the fields…</p>`;

  // Not while it is busy: a control that is disabled loses the focus, and whoever works by keyboard begins anew.
  const disabled = denied !== undefined;
  const wishes = (): Wishes => ({
    edits: specEdits(base, values, schema),
    ...(credential.text === '' ? {} : { apiKey: credential.text }),
    ...(credential.clear ? { clearApiKey: true } : {}),
  });
  const save = async (showYaml: boolean): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setProblems(new Map());
    const ref: Ref = node ?? { kind: 'UpstreamNode', namespace, name };
    try {
      const options = showYaml ? { showYaml } : {};
      const saved =
        node === undefined
          ? await declare(ref, wishes(), showYaml || undefined)
          : await change(node, wishes(), { version: node.version, seen: node.manifest, ...options });
      if (saved !== undefined) {
        setCredential({ text: '', clear: false });
        done(node === undefined ? `Added ${name}.` : `Saved ${node.name}.`);
        if (node === undefined) go(nodePath(ref));
      }
    } catch (error) {
      setProblems(problemsIn(error));
      failed(error);
    }
    setBusy(false);
  };
  const more = Object.keys(schema.properties ?? {}).filter(
    (field) => !first.includes(field) && !elsewhere.includes(field),
  );
  const wrongIn = (names: readonly string[]): boolean =>
    [...problems.keys()].some((path) => names.includes(path.split(/[.[]/)[1] ?? ''));
  const fields = (names: readonly string[]): View => html`<${SpecFields}
    path="spec"
    schema=${schema}
    names=${names}
    values=${values}
    disabled=${disabled}
    problems=${problems}
    onChange=${setValues}
  />`;

  return html`<form
    noValidate
    onSubmit=${(event: Event) => {
      event.preventDefault();
      void save(false);
    }}
  >
    ${denied && html`<p class="problem" role="note">${denied}</p>`}
    ${
      node === undefined &&
      html`${nameField({
        value: name,
        hint: 'Lower-case letters, digits, dashes and dots. It cannot be changed later.',
        wrong: problems.get('metadata.name'),
        disabled,
        onChange: setName,
      })}
        ${fields(['baseURL'])}`
    }
    ${node !== undefined && fields(address)}
    <${CredentialField} credential=${credential} keySet=${keySet} adds=${node === undefined} disabled=${disabled} onChange=${setCredential} />
    ${
      node === undefined
        ? html`<details open=${wrongIn([...first, ...more].filter((field) => field !== 'baseURL'))}>
            <summary>More</summary>
            <div class="fields">
              ${namespaceField({ value: namespace, disabled, onChange: setNamespace })}
              ${fields([...first.filter((field) => field !== 'baseURL'), ...more])}
            </div>
          </details>`
        : html`${fields(first.filter((field) => !address.includes(field)))}
          <details open=${wrongIn(more)}>
            <summary>More</summary>
            <div class="fields">${fields(more)}</div>
          </details>`
    }
    <div class="actions">
      <button type="submit" disabled=${disabled} aria-busy=${busy ? 'true' : undefined}>${node === undefined ? 'Add' : 'Save'}</button>
      <button type="button" class="secondary" disabled=${disabled} onClick=${() => void save(true)}>Show YAML</button>
    </div>
  </form>`;
}

function CredentialField(props: {
  readonly credential: Credential;
  readonly keySet: boolean;
  /** Of a node that is being added. */
  readonly adds: boolean;
  readonly disabled: boolean;
  readonly onChange: (credential: Credential) => void;
}): View {
  const { credential, keySet, adds, disabled, onChange } = props;
  const hint =
    "It is sealed before it is stored: only this gateway can read it, for this node's address alone.";
  const none = adds ? 'Empty, if the server asks for none' : 'No key is set';
  const placeholder = keySet ? 'A key is set; leave this empty to keep it' : none;
  const input = (names: InputNames): View => html`<input
    ...${names}
    type="password"
    autocomplete="off"
    value=${credential.text}
    disabled=${disabled || credential.clear}
    placeholder=${placeholder}
    onInput=${(event: Input) => onChange({ text: event.currentTarget.value, clear: false })}
  />`;
  return html`${labelled({ id: 'api-key', label: 'API key', hint }, input)}
    ${
      keySet &&
      html`<label class="inline">
        <input
          type="checkbox"
          disabled=${disabled}
          checked=${credential.clear}
          onChange=${(event: Input) => onChange({ text: '', clear: event.currentTarget.checked })}
        />
        <span>Remove the API key</span>
      </label>`
    }`;
}

/** The fields of a form that differ from what it started with. */
function touched(base: Fields, typed: Fields): Fields {
  return Object.fromEntries(
    Object.entries(typed).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(base[name])),
  );
}
