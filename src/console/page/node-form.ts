import type { Place } from '../shapes.ts';
import { ChangedElsewhere } from './changed-elsewhere.ts';
import { change, declare, savedAs, savedText } from './changing.ts';
import { type Base, useDraft } from './draft.ts';
import type { Problems } from './field.ts';
import { html, useState, type View } from './htm-preact.js';
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

/** The most used fields, in the order of the form; the others are under "More". */
const address = ['displayName', 'baseURL'];
const first = [...address, 'enabled', 'priority', 'weight', 'manualModels', 'nativeFormats'];
/** Edited elsewhere: the credential has its own input, and models have their own page. */
const elsewhere = ['apiKeySecretRef', 'encryptedAPIKey', 'models'];

/** The credential in the form: kept while the input is empty. To remove it is a separate action. */
interface Credential {
  readonly text: string;
  readonly clear: boolean;
}

/** What is typed into the form. */
interface Typed {
  readonly values: Fields;
  readonly credential: Credential;
}
const noCredential: Credential = { text: '', clear: false };
/** The initial values of a new node. */
const nothing: Base = { version: '', manifest: '', spec: {} };

/** Adds a node, or edits one: other fields stay as they are, and an empty API key keeps the key. */
export function NodeForm(props: {
  readonly place: Place;
  /** The node to edit; undefined to add one. */
  readonly node?: Ref & { readonly base: Base };
  readonly keySet: boolean;
  readonly denied: string | undefined;
}): View {
  const { place, node, keySet, denied } = props;
  const schema = useSchema('UpstreamNode');
  const [name, setName] = useState('');
  const [namespace, setNamespace] = useState(place.namespace);
  const draft = useDraft<Typed>(
    node?.base ?? nothing,
    (spec) => ({ values: spec, credential: noCredential }),
    ({ spec }, { values: typed, credential: given }) =>
      given.text !== '' || given.clear || specEdits(spec, typed, schema ?? {}).length > 0,
  );
  const { values, credential } = draft.typed;
  if (schema === undefined) return html`<p aria-busy="true">Reading the fields…</p>`;

  const disabled = denied !== undefined;
  const wishes = (): Wishes => ({
    edits: specEdits(draft.base.spec, values, schema),
    ...(credential.text === '' ? {} : { apiKey: credential.text }),
    ...(credential.clear ? { clearApiKey: true } : {}),
  });
  const save = async (showYaml: boolean): Promise<void> => {
    const ref: Ref = node ?? { kind: 'UpstreamNode', namespace, name };
    const saved =
      node === undefined
        ? await declare(ref, wishes(), showYaml || undefined)
        : await change(node, wishes(), { base: draft.base, ...(showYaml ? { showYaml } : {}) });
    if (saved === undefined) return;
    draft.saved(savedAs(saved));
    done(node === undefined ? `Added ${name}.` : savedText(node.name, saved));
    if (node === undefined) go(nodePath(ref));
  };
  const more = Object.keys(schema.properties ?? {}).filter(
    (field) => !first.includes(field) && !elsewhere.includes(field),
  );
  const setCredential = (given: Credential): void => draft.type({ values, credential: given });
  const fields = fieldsOfSpec({
    schema,
    values,
    disabled,
    onChange: (next) => draft.type({ values: next, credential }),
  });
  const key = html`<${CredentialField} credential=${credential} keySet=${keySet} adds=${node === undefined} disabled=${disabled} onChange=${setCredential} />`;
  /** The fields under "More", unfolded if one of them has an error. */
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
    notice=${node !== undefined && html`<${ChangedElsewhere} draft=${draft} current=${node.base} />`}
  />`;
}

/** Whether one of these fields of the spec has an error, or the namespace, which is folded with them. */
function isAmong(names: readonly string[], problems: Problems): boolean {
  return [...problems.keys()].some(
    (path) => path === 'metadata.namespace' || names.includes(path.split(/[.[]/)[1] ?? ''),
  );
}

function CredentialField(props: {
  readonly credential: Credential;
  readonly keySet: boolean;
  /** Whether the form adds a node; otherwise it edits one. */
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
