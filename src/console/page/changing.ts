import type { Detail, Edited } from '../shapes.ts';
import { type Collision, collisionsOf, isSame } from './collisions.ts';
import { changedHere } from './detail.ts';
import { Dialog } from './dialog.ts';
import { DiffView } from './diff-view.ts';
import type { Base } from './draft.ts';
import { html, useEffect, useState, type View } from './htm-preact.js';
import { done, failed } from './notices.ts';
import { create, type EditOptions, edit, type Ref, Refusal, readDetail, type Wishes } from './server.ts';
import { labelsTo } from './words.ts';

/** A change that waits for the reader's confirmation. */
interface Proposal {
  readonly title: string;
  readonly explanation: string | undefined;
  readonly before: string;
  readonly after: string;
  readonly accept: string | undefined;
  /** Fields that somebody else changed too; their values are shown beside the reader's. */
  readonly collisions?: readonly Collision[];
  readonly settle: (choice: Choice) => void;
}

/** The reader's answer; `theirs` is offered if both changed a field. */
type Choice = 'accepted' | 'theirs' | 'refused';

/** Waiting changes; the first is shown. If several resources are changed at once, they are confirmed one after the other. */
let proposals: readonly Proposal[] = [];
const watchers = new Set<() => void>();

function show(next: readonly Proposal[]): void {
  proposals = next;
  for (const watcher of watchers) watcher();
}

/** Shows two texts and asks. Without `accept` there is nothing to accept. */
function propose(shown: Omit<Proposal, 'settle'>): Promise<Choice> {
  return new Promise((resolve) => {
    const proposal: Proposal = {
      ...shown,
      settle: (choice) => {
        show(proposals.filter((waiting) => waiting !== proposal));
        resolve(choice);
      },
    };
    show([...proposals, proposal]);
  });
}

const preference = 'model-gateway-show-yaml';

/** Whether every change is shown as YAML before it is applied: the reader's choice, kept in this browser. */
export function showsYaml(): boolean {
  return localStorage.getItem(preference) === 'yes';
}

export function setShowsYaml(shows: boolean): void {
  localStorage.setItem(preference, shows ? 'yes' : 'no');
}

/**
 * Changes a resource, after the reader has confirmed it as YAML if they want that. Returns what was done, or undefined if
 * the reader cancelled. Conflicts (fields of another manager, and changes since `base`) are shown to the reader, who
 * decides. Throws Refusal for all other refusals.
 */
export async function change(
  ref: Ref,
  wishes: Wishes,
  options: {
    /** The version that the reader saw; without it the change applies to any version. */
    readonly base?: Base;
    readonly showYaml?: boolean;
    readonly force?: boolean;
  } = {},
): Promise<Edited | undefined> {
  const { base, force = false, showYaml = showsYaml() } = options;
  const at: EditOptions = { force, ...(base === undefined ? {} : { version: base.version }) };
  try {
    if (showYaml) {
      const { before, after } = await edit(ref, wishes, { ...at, dryRun: true });
      const accepted = await propose({
        title: `Change ${ref.name}`,
        explanation: before === after ? 'This changes nothing in the manifest.' : undefined,
        before,
        after,
        accept: 'Apply',
      });
      if (accepted !== 'accepted') return undefined;
    }
    const edited = await edit(ref, wishes, at);
    changedHere(ref, edited);
    return edited;
  } catch (error) {
    if (!(error instanceof Refusal) || error.reason !== 'Conflict') throw error;
    if (error.causes.length > 0 && !force) {
      return (await takesOver(ref, wishes, at, error))
        ? change(ref, wishes, { ...options, force: true, showYaml: false })
        : undefined;
    }
    if (base === undefined) throw error;
    const now = await readDetail(ref);
    const next = { ...options, base: baseOf(now) };
    const isCredential = wishes.apiKey !== undefined || wishes.clearApiKey !== undefined;
    // An annotation, such as a requested synchronization: no form has it.
    if (!isCredential && isSame(base.spec, next.base.spec)) return change(ref, wishes, next);
    const collisions = collisionsOf(wishes.edits ?? [], { spec: base.spec }, { spec: next.base.spec });
    const choice = await mergesWith(base, now, collisions);
    if (choice === 'refused') return undefined;
    if (choice === 'accepted') return change(ref, wishes, next);
    const theirs = new Set(collisions.map(({ path }) => JSON.stringify(path)));
    const edits = (wishes.edits ?? []).filter(({ path }) => !theirs.has(JSON.stringify(path)));
    return change(ref, { ...wishes, edits }, next);
  }
}

/** Shows whose fields the change would take over, and what it would do. */
async function takesOver(ref: Ref, wishes: Wishes, at: EditOptions, { causes }: Refusal): Promise<boolean> {
  const { before, after } = await edit(ref, wishes, { ...at, force: true, dryRun: true });
  const owned = causes.map(({ field, message }) => `${field} ${message}`).join('; ');
  const choice = await propose({
    title: 'Somebody else owns what you change',
    explanation: `${owned}. Nothing is stored yet. Change it there; or take it over, and the owner may put it back.`,
    before,
    after,
    accept: 'Take over',
  });
  return choice === 'accepted';
}

/** What a form shows after its change is stored. */
export function savedAs({ version, after, spec }: Edited): Base {
  return { version, manifest: after, spec: spec as Base['spec'] };
}

export function savedText(name: string, { before, after }: Edited): string {
  return before === after ? `Nothing was changed in ${name}.` : `Saved ${name}.`;
}

/** What a form is made from. */
export function baseOf({ version, manifest, resource }: Detail): Base {
  return { version, manifest, spec: (resource as { spec: Base['spec'] }).spec };
}

/** Shows what somebody else changed since `base`, and asks which value to use for fields that both changed. */
function mergesWith(base: Base, now: Detail, collisions: readonly Collision[]): Promise<Choice> {
  return propose({
    title: 'Somebody else changed it too',
    explanation: 'Below is what changed since you opened it. Your own changes are not stored yet.',
    before: base.manifest,
    after: now.manifest,
    accept: 'Apply mine on top',
    collisions,
  });
}

/** Declares a resource, after the reader has confirmed it as YAML if they want that. Undefined if they cancelled. */
export async function declare(
  ref: Ref,
  wishes: Wishes,
  showYaml = showsYaml(),
): Promise<Awaited<ReturnType<typeof create>> | undefined> {
  if (showYaml) {
    const { after } = await create(ref, wishes, { dryRun: true });
    const accepted = await propose({
      title: `Create ${ref.name}`,
      explanation: undefined,
      before: '',
      after,
      accept: 'Create',
    });
    if (accepted !== 'accepted') return undefined;
  }
  return create(ref, wishes);
}

/** Enables or disables several resources, and offers to undo it. Reports each failure. */
export async function setEnabled(refs: readonly Ref[], enabled: boolean): Promise<void> {
  const settled = await Promise.allSettled(
    refs.map((ref) => change(ref, { edits: [{ path: ['spec', 'enabled'], value: enabled }] })),
  );
  const edited = settled.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
  for (const result of settled) if (result.status === 'rejected') failed(result.reason);
  if (edited.every((result) => result === undefined)) return;
  // Those that did not change are not undone.
  const did = refs.filter((_, index) => edited[index]?.before !== edited[index]?.after);
  if (did.length === 0) {
    done(`${refs.length === 1 ? 'It is' : 'They are'} ${enabled ? 'enabled' : 'disabled'} already.`);
    return;
  }
  const what = did.length === 1 ? did[0]?.name : `${did.length} resources`;
  done(`${enabled ? 'Enabled' : 'Disabled'} ${what}.`, () => void setEnabled(did, !enabled));
}

/** The dialog of the waiting change, if there is one. */
export function Proposals(): View | undefined {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watcher = (): void => redraw((count) => count + 1);
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, []);
  const [proposal] = proposals;
  if (proposal === undefined) return undefined;
  const { title, explanation, before, after, accept, collisions = [], settle } = proposal;
  return html`<${Dialog} key=${proposal} title=${title} onClose=${() => settle('refused')}>
    ${explanation && html`<p>${explanation}</p>`}
    ${collisions.length > 0 && html`<${Collisions} collisions=${collisions} />`}
    <${DiffView} before=${before} after=${after} />
    <footer>
      <button class="secondary" onClick=${() => settle('refused')}>Cancel</button>
      ${collisions.length > 0 && html`<button class="secondary" onClick=${() => settle('theirs')}>Keep theirs</button>`}
      ${accept && html`<button autofocus=${collisions.length === 0} onClick=${() => settle('accepted')}>${accept}</button>`}
    </footer>
  <//>`;
}

/** The values that both people gave to a field, side by side. */
function Collisions({ collisions }: { collisions: readonly Collision[] }): View {
  return html`<table class="collisions">
    <thead><tr><th scope="col">Both changed</th><th scope="col">It was</th><th scope="col">Theirs</th><th scope="col">Yours</th></tr></thead>
    <tbody>
      ${collisions.map(
        ({ path, was, theirs, mine }) => html`<tr>
          <th scope="row">${pathText(path)}</th>
          ${[was, theirs, mine].map((value) => html`<td>${textOf(value)}</td>`)}
        </tr>`,
      )}
    </tbody>
  </table>`;
}

/** The labels on the way to a field; an entry of a list by its name. */
function pathText(path: Collision['path']): string {
  return labelsTo(path.map((step) => (typeof step === 'string' ? step : step.name)).join('.'));
}

/** Longest value that is shown beside others. The YAML below has the complete value. */
const longestValue = 200;

function textOf(value: unknown): string {
  if (value === undefined) return 'not set';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}
