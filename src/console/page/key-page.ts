import type { KeyRow, Place } from '../shapes.ts';
import { ChangedElsewhere } from './changed-elsewhere.ts';
import { baseOf, change, savedAs, savedText, setEnabled } from './changing.ts';
import { DeleteDialog } from './delete-dialog.ts';
import { useDetail } from './detail.ts';
import { Dialog } from './dialog.ts';
import { type Base, useDraft } from './draft.ts';
import type { Problems } from './field.ts';
import { html, useState, type View } from './htm-preact.js';
import { changeable } from './key-fields.ts';
import { type KeyKind, keysPath } from './keys-page.ts';
import { done, failed } from './notices.ts';
import { ResourceForm } from './resource-form.ts';
import { denial, useRights } from './rights.ts';
import { go } from './router.ts';
import { useSchema } from './schema.ts';
import type { Ref } from './server.ts';
import { Snippets } from './snippets.ts';
import { type Fields, specEdits } from './spec-edits.ts';
import { fieldsOfSpec } from './spec-fields.ts';
import { When } from './when.ts';
import { inWords, labelOf } from './words.ts';

type Input = { currentTarget: HTMLInputElement };

/** One key: its status, its fields, rotation, and how to use it. */
export function KeyPage(props: { place: Place; kind: KeyKind; namespace: string; name: string }): View {
  const { place, kind, namespace, name } = props;
  const ref = { kind, namespace, name };
  const rights = useRights(namespace);
  const { detail, problem } = useDetail(ref);
  const [open, setOpen] = useState<'delete' | 'rotate' | undefined>(undefined);
  if (problem !== undefined) {
    return html`<section><h1>${name}</h1><p class="problem" role="alert">${problem}</p><a href=${keysPath(kind)}>All keys</a></section>`;
  }
  if (detail === undefined)
    return html`<section><h1>${name}</h1><p aria-busy="true">Reading the key…</p></section>`;
  const row = detail.row as KeyRow;
  const denied = denial(place, rights, kind, 'edit', row);
  const noDelete = denial(place, rights, kind, 'remove', row);
  const noRotation =
    row.secretName === undefined
      ? 'A key given by its hash is replaced by another key: create one, then revoke this one.'
      : denied;

  return html`<section>
    <nav class="trail" aria-label="Breadcrumb"><a href=${keysPath(kind)}>Keys</a> / ${row.namespace} / ${row.name}</nav>
    <div class="head">
      <h1>${row.displayName}${!row.enabled && html` <span class="badge">disabled</span>`}${row.kept && html` <span class="badge">last good version</span>`}</h1>
      <div class="actions">
        <button class="outline" disabled=${denied !== undefined} title=${denied} onClick=${() => void setEnabled([ref], !row.enabled)}>
          ${row.enabled ? 'Disable' : 'Enable'}
        </button>
        <button class="outline" disabled=${noRotation !== undefined} title=${noRotation} onClick=${() => setOpen('rotate')}>Rotate</button>
        <button class="outline danger" disabled=${noDelete !== undefined} title=${noDelete} onClick=${() => setOpen('delete')}>Revoke</button>
      </div>
    </div>
    <article class="facts">
      <p class=${row.ready === 'True' ? '' : 'problem'}><strong>${labelOf(row.reason)}</strong>: ${inWords(row.message)}</p>
      <dl>
        <div><dt>Hint</dt><dd><code>${row.hint ?? 'none'}</code></dd></div>
        <div><dt>Source</dt><dd>${row.secretName === undefined ? 'a hash; the text is kept elsewhere' : `the Secret ${row.secretName}`}</dd></div>
        <div><dt>Expires</dt><dd><${When} time=${row.expirationTime} /></dd></div>
        <div><dt>Created</dt><dd><${When} time=${row.created} absent="unknown" /></dd></div>
        ${row.managedBy && html`<div><dt>Managed by</dt><dd>${row.managedBy}</dd></div>`}
        ${detail.source && html`<div class="broad"><dt>Declared in</dt><dd>${detail.source}</dd></div>`}
      </dl>
      ${noRotation !== undefined && noRotation !== denied && html`<p><small>${noRotation}</small></p>`}
      <details><summary>Manifest</summary><pre tabindex="0" aria-label="Manifest">${detail.manifest}</pre></details>
    </article>
    <${KeyForm} ref_=${ref} base=${baseOf(detail)} denied=${denied} />
    ${kind === 'APIKey' && html`<${Snippets} gatewayURL=${place.gatewayURL} />`}
    ${open === 'rotate' && html`<${RotateDialog} ref_=${ref} row=${row} base=${baseOf(detail)} onClose=${() => setOpen(undefined)} />`}
    ${
      open === 'delete' &&
      html`<${DeleteDialog} ref_=${ref} version=${detail.version} revokes what="Callers with this key are refused everywhere within a second."
        onClose=${() => setOpen(undefined)} onDeleted=${() => go(keysPath(kind))} />`
    }
  </section>`;
}

/** The fields of a key that can be changed. */
function KeyForm(props: {
  readonly ref_: Ref & { readonly kind: KeyKind };
  readonly base: Base;
  readonly denied: string | undefined;
}): View {
  const { ref_: ref, base, denied } = props;
  const schema = useSchema(ref.kind);
  const draft = useDraft<Fields>(
    base,
    (spec) => spec,
    ({ spec }, typed) => specEdits(spec, typed, schema ?? {}).length > 0,
  );
  if (schema === undefined) return html`<p aria-busy="true">Reading the fields…</p>`;
  const save = async (showYaml: boolean): Promise<void> => {
    const edits = specEdits(draft.base.spec, draft.typed, schema);
    const saved = await change(ref, { edits }, { base: draft.base, ...(showYaml ? { showYaml } : {}) });
    if (saved === undefined) return;
    draft.saved(savedAs(saved));
    done(savedText(ref.name, saved));
  };
  const fields = fieldsOfSpec({
    schema,
    values: draft.typed,
    disabled: denied !== undefined,
    onChange: draft.type,
  });
  return html`<${ResourceForm}
    submit="Save"
    denied=${denied}
    save=${save}
    fields=${(problems: Problems) => fields(changeable[ref.kind], problems)}
    notice=${html`<${ChangedElsewhere} draft=${draft} current=${base} />`}
  />`;
}

function RotateDialog({
  ref_: ref,
  row,
  base,
  onClose,
}: {
  ref_: Ref;
  row: KeyRow;
  base: Base;
  onClose: () => void;
}): View {
  const overlap = (base.spec['rotation'] as { overlapSeconds?: number } | undefined)?.overlapSeconds;
  const [minutes, setMinutes] = useState(overlap === undefined ? 60 : Math.ceil(overlap / 60));
  const act = async (): Promise<void> => {
    const rotation = { revision: row.revision + 1, overlapSeconds: minutes * 60 };
    try {
      const edits = Object.entries(rotation).map(([field, value]) => ({
        path: ['spec', 'rotation', field],
        value,
      }));
      if ((await change(ref, { edits }, { base })) !== undefined) {
        done(
          `A new key goes into the Secret ${row.secretName}; the old one stays valid for ${minutes} minutes.`,
        );
      }
    } catch (error) {
      failed(error);
    }
    onClose();
  };
  return html`<${Dialog} title=${`Rotate ${row.name}`} onClose=${onClose}>
    <form
      onSubmit=${(event: Event) => {
        event.preventDefault();
        void act();
      }}
    >
      <p>A new key is issued into the Secret ${row.secretName}. Programs that still hold the old one have this long to take the new one.</p>
      <label>
        <span>Minutes that the old key stays valid</span>
        <input type="number" min="0" max="43200" value=${minutes} autofocus onInput=${(event: Input) => setMinutes(Number(event.currentTarget.value))} />
      </label>
      <footer>
        <button type="button" class="secondary" onClick=${onClose}>Cancel</button>
        <button type="submit">Rotate</button>
      </footer>
    </form>
  <//>`;
}
