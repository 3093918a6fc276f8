import type { Place } from '../shapes.ts';
import { change, declare } from './changing.ts';
import type { Problems } from './field.ts';
import { html, useEffect, useState, type View } from './htm-preact.js';
import { type InputNames, labelled } from './labelled.ts';
import { nameField, namespaceField } from './name-field.ts';
import { nodePath } from './nodes-page.ts';
import { done } from './notices.ts';
import { ResourceForm } from './resource-form.ts';
import { go } from './router.ts';
import { useSchema } from './schema.ts';
import type { Ref, Wishes } from './server.ts';
import { type Fields, specEdits } from './spec-edits.ts';
import { fieldsOfSpec } from './spec-fields.ts';

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
  const [base, setBase] = useState(spec);
  useEffect(() => {
    // Somebody else's change of a field that is not touched here shows at once; what is typed stays.
    setValues((typed) => ({ ...spec, ...touched(base, typed) }));
    setBase(spec);
    return undefined;
  }, [JSON.stringify(spec)]);
  if (schema === undefined) return html`<p aria-busy="true">Reading the fields…</p>`;

  const disabled = denied !== undefined;
  const wishes = (): Wishes => ({
    edits: specEdits(base, values, schema),
    ...(credential.text === '' ? {} : { apiKey: credential.text }),
    ...(credential.clear ? { clearApiKey: true } : {}),
  });
  const save = async (showYaml: boolean): Promise<void> => {
    const ref: Ref = node ?? { kind: 'UpstreamNode', namespace, name };
    const saved =
      node === undefined
        ? await declare(ref, wishes(), showYaml || undefined)
        : await change(node, wishes(), {
            version: node.version,
            seen: node.manifest,
            ...(showYaml ? { showYaml } : {}),
          });
    if (saved === undefined) return;
    setCredential({ text: '', clear: false });
    done(node === undefined ? `Added ${name}.` : `Saved ${node.name}.`);
    if (node === undefined) go(nodePath(ref));
  };
  const more = Object.keys(schema.properties ?? {}).filter(
    (field) => !first.includes(field) && !elsewhere.includes(field),
  );
  const fields = fieldsOfSpec({ schema, values, disabled, onChange: setValues });
  const key = html`<${CredentialField} credential=${credential} keySet=${keySet} adds=${node === undefined} disabled=${disabled} onChange=${setCredential} />`;
  /** The fields that few look for, in sight when one of them is wrong. */
  const folded = (
    names: readonly string[],
    problems: Problems,
    before?: View,
  ): View => html`<details open=${isAmong(names, problems)}>
    <summary>More</summary>
    <div class="fields">${before} ${fields(names, problems)}</div>
  </details>`;
  const adding = (problems: Problems): View => html`
    ${nameField({
      value: name,
      hint: 'Lower-case letters, digits, dashes and dots. It cannot be changed later.',
      wrong: problems.get('metadata.name'),
      disabled,
      onChange: setName,
    })}
    ${fields(['baseURL'], problems)}
    ${key}
    ${folded(
      [...first.filter((field) => field !== 'baseURL'), ...more],
      problems,
      namespaceField({
        value: namespace,
        wrong: problems.get('metadata.namespace'),
        disabled,
        onChange: setNamespace,
      }),
    )}`;
  const editing = (problems: Problems): View => html`
    ${fields(address, problems)}
    ${key}
    ${fields(
      first.filter((field) => !address.includes(field)),
      problems,
    )}
    ${folded(more, problems)}`;
  return html`<${ResourceForm}
    submit=${node === undefined ? 'Add' : 'Save'}
    denied=${denied}
    fields=${node === undefined ? adding : editing}
    save=${save}
  />`;
}

/** Whether something is wrong with one of these fields of the spec, or with the namespace, which is folded away with them. */
function isAmong(names: readonly string[], problems: Problems): boolean {
  return [...problems.keys()].some(
    (path) => path === 'metadata.namespace' || names.includes(path.split(/[.[]/)[1] ?? ''),
  );
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
