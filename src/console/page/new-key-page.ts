import type { Place } from '../shapes.ts';
import { declare } from './changing.ts';
import type { Problems } from './field.ts';
import { html, useState, type View } from './htm-preact.js';
import { changeable } from './key-fields.ts';
import { type KeyKind, keyPath } from './keys-page.ts';
import { labelled } from './labelled.ts';
import { nameField, namespaceField } from './name-field.ts';
import { NewKey } from './new-key.ts';
import { done } from './notices.ts';
import { ResourceForm } from './resource-form.ts';
import { denial, useRights } from './rights.ts';
import { go } from './router.ts';
import { useSchema } from './schema.ts';
import type { Ref } from './server.ts';
import { type Fields, specEdits } from './spec-edits.ts';
import { fieldsOfSpec } from './spec-fields.ts';

type Input = { currentTarget: HTMLInputElement };

/** The most used fields; the others are under "More". */
const early: Readonly<Record<KeyKind, readonly string[]>> = {
  APIKey: ['expirationTime', 'models'],
  MasterKey: ['expirationTime'],
};

/** Creates a key: its text is shown once, or goes into a Secret. */
export function NewKeyPage({ place, kind }: { place: Place; kind: KeyKind }): View {
  const rights = useRights(place.namespace);
  const schema = useSchema(kind);
  const denied = denial(place, rights, kind, 'create');
  const [name, setName] = useState('');
  const [namespace, setNamespace] = useState(place.namespace);
  const [inSecret, setInSecret] = useState(false);
  const [secretName, setSecretName] = useState('');
  const [values, setValues] = useState<Fields>({});
  const [made, setMade] = useState<string | undefined>(undefined);
  if (schema === undefined) return html`<p aria-busy="true">Reading the fields…</p>`;
  const ref: Ref = { kind, namespace, name };
  const disabled = denied !== undefined;

  const save = async (showYaml: boolean): Promise<void> => {
    const edits = specEdits({}, inSecret ? { ...values, secretName: secretName || name } : values, schema);
    const saved = await declare(ref, inSecret ? { edits } : { edits, newKey: true }, showYaml || undefined);
    if (saved === undefined) return;
    if (saved.value === undefined) {
      done(`Created ${name}. Its key is in the Secret ${secretName || name}.`);
      go(keyPath({ kind, namespace, name }));
    } else setMade(saved.value);
  };
  const specFields = fieldsOfSpec({ schema, values, disabled, onChange: setValues });
  const fields = (problems: Problems): View => html`
    ${nameField({
      value: name,
      hint: 'Lower-case letters, digits, dashes and dots, such as the name of the program that gets it.',
      wrong: problems.get('metadata.name'),
      disabled,
      onChange: setName,
    })}
    <fieldset>
      <legend>Where the key goes</legend>
      <label>
        <input type="radio" name="source" checked=${!inSecret} disabled=${disabled} onChange=${() => setInSecret(false)} />
        Show it to me, once
      </label>
      <label>
        <input type="radio" name="source" checked=${inSecret} disabled=${disabled} onChange=${() => setInSecret(true)} />
        ${place.isCluster ? "Into a Secret, ready for a pod's envFrom" : 'Into a Secret that the gateway keeps in its data folder'}
      </label>
    </fieldset>
    ${
      inSecret &&
      labelled(
        { id: 'spec.secretName', label: 'Name of the Secret', wrong: problems.get('spec.secretName') },
        (names) => html`<input ...${names} value=${secretName} placeholder=${name} disabled=${disabled}
          onInput=${(event: Input) => setSecretName(event.currentTarget.value)} />`,
      )
    }
    ${specFields(early[kind], problems)}
    <details open=${problems.has('metadata.namespace')}>
      <summary>More</summary>
      <div class="fields">
        ${namespaceField({
          value: namespace,
          wrong: problems.get('metadata.namespace'),
          disabled,
          onChange: setNamespace,
        })}
        ${specFields(
          changeable[kind].filter((field) => !early[kind].includes(field)),
          problems,
        )}
      </div>
    </details>`;

  return html`<section class="narrow">
    <h1>Create ${kind === 'APIKey' ? 'an API key' : 'a master key'}</h1>
    <${ResourceForm} submit="Create" denied=${denied} fields=${fields} save=${save} />
    ${
      made !== undefined &&
      html`<${NewKey} place=${place} kind=${kind} name=${name} value=${made} onClose=${() => go(keyPath({ kind, namespace, name }))} />`
    }
  </section>`;
}
