import type { Detail, Edited } from '../shapes.ts';
import { changedHere } from './detail.ts';
import { Dialog } from './dialog.ts';
import { DiffView } from './diff-view.ts';
import { html, useEffect, useState, type View } from './htm-preact.js';
import { done, failed } from './notices.ts';
import { create, type EditOptions, edit, type Ref, Refusal, readDetail, type Wishes } from './server.ts';

/** A change that waits for the reader's word. */
interface Proposal {
  readonly title: string;
  readonly explanation: string | undefined;
  readonly before: string;
  readonly after: string;
  readonly accept: string | undefined;
  readonly settle: (accepted: boolean) => void;
}

/** Those that wait, the one that is shown first: several resources changed at once are looked at one after the other. */
let proposals: readonly Proposal[] = [];
const watchers = new Set<() => void>();

function show(next: readonly Proposal[]): void {
  proposals = next;
  for (const watcher of watchers) watcher();
}

/** Shows two texts and asks. True when the reader accepts; without `accept` there is nothing to accept. */
function propose(shown: Omit<Proposal, 'settle'>): Promise<boolean> {
  return new Promise((resolve) => {
    const proposal: Proposal = {
      ...shown,
      settle: (accepted) => {
        show(proposals.filter((waiting) => waiting !== proposal));
        resolve(accepted);
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
 * Changes a resource, after the reader has seen it as YAML where that is wanted. Returns what was done, or undefined when
 * the reader thought better of it. Throws Refusal, but for conflicts: what another manager owns, and what somebody changed
 * since `version`, is shown, and the reader decides.
 */
export async function change(
  ref: Ref,
  wishes: Wishes,
  options: {
    readonly version?: string;
    readonly seen?: string;
    readonly showYaml?: boolean;
    readonly force?: boolean;
  } = {},
): Promise<Edited | undefined> {
  const { version, force = false, showYaml = showsYaml() } = options;
  const at: EditOptions = { force, ...(version === undefined ? {} : { version }) };
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
      if (!accepted) return undefined;
    }
    const edited = await edit(ref, wishes, at);
    changedHere(ref);
    return edited;
  } catch (error) {
    if (!(error instanceof Refusal) || error.reason !== 'Conflict') throw error;
    if (error.causes.length > 0 && !force) {
      return (await takesOver(ref, wishes, at, error))
        ? change(ref, wishes, { ...options, force: true, showYaml: false })
        : undefined;
    }
    if (version === undefined) throw error;
    const now = await mergesWith(ref, options.seen, error);
    return now && change(ref, wishes, { ...options, version: now.version, seen: now.manifest });
  }
}

/** Shows whose fields the change would take over, and what it would do. */
async function takesOver(ref: Ref, wishes: Wishes, at: EditOptions, { causes }: Refusal): Promise<boolean> {
  const { before, after } = await edit(ref, wishes, { ...at, force: true, dryRun: true });
  const owned = causes.map(({ field, message }) => `${field} ${message}`).join('; ');
  return propose({
    title: 'Somebody else owns what you change',
    explanation: `${owned}. Nothing is stored yet. Change it there; or take it over, and the owner may put it back.`,
    before,
    after,
    accept: 'Take over',
  });
}

/** Shows what somebody else changed meanwhile; the state of now when the reader wants the same change on top of it. */
async function mergesWith(
  ref: Ref,
  seen: string | undefined,
  { message }: Refusal,
): Promise<Detail | undefined> {
  const now = await readDetail(ref);
  const accepted = await propose({
    title: 'Somebody else changed it meanwhile',
    explanation: `${message} Below is what changed since you opened it. Your own changes are not stored yet.`,
    before: seen ?? '',
    after: now.manifest,
    accept: 'Apply mine on top',
  });
  return accepted ? now : undefined;
}

/** Declares a resource, shown as YAML before where that is wanted. Undefined when the reader thought better of it. */
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
    if (!accepted) return undefined;
  }
  return create(ref, wishes);
}

/** Enables or disables several resources, and offers to undo it. What fails is said for each. */
export async function setEnabled(refs: readonly Ref[], enabled: boolean): Promise<void> {
  const settled = await Promise.allSettled(
    refs.map((ref) => change(ref, { edits: [{ path: ['spec', 'enabled'], value: enabled }] })),
  );
  const edited = settled.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
  for (const result of settled) if (result.status === 'rejected') failed(result.reason);
  if (edited.every((result) => result === undefined)) return;
  // Of those that were so already nothing is undone.
  const did = refs.filter((_, index) => edited[index]?.before !== edited[index]?.after);
  if (did.length === 0) {
    done(`${refs.length === 1 ? 'It is' : 'They are'} ${enabled ? 'enabled' : 'disabled'} already.`);
    return;
  }
  const what = did.length === 1 ? did[0]?.name : `${did.length} resources`;
  done(`${enabled ? 'Enabled' : 'Disabled'} ${what}.`, () => void setEnabled(did, !enabled));
}

/** The dialog of the proposal that waits; nothing when none does. */
export function Proposals(): View | undefined {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watcher = (): void => redraw((count) => count + 1);
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, []);
  const [proposal] = proposals;
  if (proposal === undefined) return undefined;
  const { title, explanation, before, after, accept, settle } = proposal;
  return html`<${Dialog} key=${proposal} title=${title} onClose=${() => settle(false)}>
    ${explanation && html`<p>${explanation}</p>`}
    <${DiffView} before=${before} after=${after} />
    <footer>
      <button class="secondary" onClick=${() => settle(false)}>Cancel</button>
      ${accept && html`<button onClick=${() => settle(true)}>${accept}</button>`}
    </footer>
  <//>`;
}
