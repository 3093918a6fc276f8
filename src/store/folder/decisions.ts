import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../observe/log.ts';
import { changeProblems } from '../../resources/change.ts';
import type { Content } from '../content.ts';
import type { Kind, ResourceOf } from '../store.ts';
import type { AppliedLog } from './applied-log.ts';
import type { DamagedRows } from './damaged-rows.ts';
import {
  reportBehindKept,
  reportKept,
  reportRefusal,
  reportRepeats,
  reportStored,
} from './declaration-reports.ts';
import type { Breathe, Declaration } from './declarations.ts';
import type { DirectorySecrets } from './directory-secrets.ts';
import { authored, identified } from './identified.ts';
import type { Identity } from './identity-maker.ts';
import { KeptFiles } from './kept-files.ts';
import type { MadeKeys } from './made-keys.ts';
import type { FoundProblem } from './manifest-problems.ts';
import type { Manifests } from './manifests.ts';
import { resourceId } from './parse-manifest.ts';
import type { Records, Sourced } from './records.ts';
import { partsOf, recordedObject, specMark, storedStatus } from './resource-record.ts';

type Stored = ResourceOf[Kind];

/** What the objects of a folder are kept in. */
export interface FolderParts {
  readonly content: Content;
  readonly manifests: Manifests;
  readonly records: Records;
  readonly made: MadeKeys;
  readonly secrets: DirectorySecrets;
  readonly damaged: DamagedRows;
  readonly log: Log;
  /** Notes what the manifests changed. */
  readonly applied: AppliedLog;
  readonly newIdentity: () => Identity;
}

/** What is to be done about an object: put `next` into force, or delete the object if it is undefined. */
export interface Step {
  readonly id: string;
  readonly next: Sourced | undefined;
  /** Whether the record on disk differs from `next`. */
  readonly isNews: boolean;
  /** What the edit log says of it. */
  readonly action?: 'created' | 'changed' | 'deleted' | undefined;
}

/** Decides which declaration of an object is in force, given the manifests, the content and the records of the last run. */
export class Decisions {
  readonly #parts: FolderParts;
  readonly #kept: KeptFiles;
  /** Why declarations that are valid by themselves are not in force, by object. */
  readonly #refused = new Map<string, FoundProblem[]>();
  #isStarting = true;

  constructor(parts: FolderParts) {
    this.#parts = parts;
    this.#kept = new KeptFiles(parts);
  }

  /** Why declarations that are valid by themselves are not in force. */
  *problems(): Iterable<FoundProblem> {
    for (const problems of this.#refused.values()) yield* problems;
  }

  /** The object in force now. */
  current(id: string): Stored | undefined {
    const [kind, namespace, name] = partsOf(id);
    return isKind(kind) ? this.#parts.content.get(kind, namespace, name) : undefined;
  }

  /** To be called after the first look. @returns what unreadable files keep in force and no manifest declares */
  async endStart(breathe: Breathe): Promise<[id: string, object: Sourced][]> {
    const kept = this.#isStarting ? await this.#kept.begin(breathe) : [];
    this.#isStarting = false;
    return kept;
  }

  /** The ids of objects that were kept because of a file that can be read now. */
  release(): string[] {
    return this.#kept.release();
  }

  /** Decides what is in force of an object. @returns one step, or none if nothing is to be done */
  decide(id: string): Step[] {
    const { log, manifests, records, secrets } = this.#parts;
    this.#refused.delete(id);
    const declarations = manifests.of(id);
    const [first, ...others] = declarations;
    const [kind, namespace, name] = partsOf(id);
    const isMade = this.#isMade(id);
    if (first !== undefined) {
      if (isMade || (kind === 'Secret' && secrets.isStored(namespace, name)))
        this.#refuse(id, [reportStored(log, first)]);
      this.#refuse(id, reportRepeats(log, first, others));
    }
    if (kind === 'Secret') this.#declareSecret(id, declarations);
    if (kind === 'Secret' || isMade) return [];
    const kept = this.#keptBefore(id, declarations);
    if (kept !== undefined) return kept;
    const current = this.current(id);
    if (first === undefined)
      return current === undefined ? [] : [{ id, next: undefined, isNews: true, action: 'deleted' }];
    // The last good version stays in force while the first declaration is not valid, also that of the last run.
    if (first.resource === undefined) {
      const former = current === undefined && this.#isStarting ? records.former(id) : undefined;
      const lastGood = current ?? (former && recordedObject(id, former));
      if (lastGood !== undefined) {
        reportKept(log, first, lastGood.metadata.generation ?? 1);
        const next = { resource: lastGood, file: former?.file };
        return former === undefined ? [] : [{ id, next, isNews: false }];
      }
    }
    const declaration = declarations.find(({ resource }) => resource !== undefined);
    const resource = declaration?.resource;
    if (declaration === undefined || resource === undefined || resource.kind === 'Secret') return [];
    if (current === undefined) return this.#begin(id, declaration, resource);
    return this.#isAllowed(declaration, current, resource)
      ? this.#update(id, current, resource, declaration)
      : [];
  }

  #declareSecret(id: string, declarations: readonly Declaration[]): void {
    const { applied, secrets } = this.#parts;
    const [, namespace, name] = partsOf(id);
    const { file, resource } = declarations.find((each) => each.resource !== undefined) ?? {};
    const wasDeclared = secrets.isDeclared(namespace, name);
    if (resource?.kind === 'Secret') {
      secrets.declare(namespace, name, authored(resource));
      applied.note(id, wasDeclared ? 'changed' : 'created', file);
    } else if (declarations.length === 0) {
      secrets.declare(namespace, name, undefined);
      if (wasDeclared) applied.note(id, 'deleted', undefined);
    }
  }

  /** What an earlier file that cannot be read keeps in force, if there is one. */
  #keptBefore(id: string, declarations: readonly Declaration[]): Step[] | undefined {
    const [first] = declarations;
    const object =
      this.#isStarting && first !== undefined ? this.#kept.keepBefore(id, first.file) : undefined;
    const keptFile = this.#kept.fileOf(id);
    if (keptFile === undefined) return undefined;
    if (first === undefined || keptFile < first.file) {
      this.#refuse(id, reportBehindKept(this.#parts.log, keptFile, declarations));
      return object === undefined ? [] : [{ id, next: object, isNews: false }];
    }
    this.#kept.forget(id);
    return undefined;
  }

  /** Puts an object into force that was not: a new one, or one of the last run. */
  #begin(id: string, declaration: Declaration, resource: Stored): Step[] {
    const { damaged, newIdentity, records, secrets } = this.#parts;
    const { file } = declaration;
    const former = records.former(id);
    if (former === undefined) {
      const identity = newIdentity();
      // With another uid it would lose the Secrets that it owns, and so the key in them.
      const uid = damaged.has('record', id) ? secrets.ownerUid(...partsOf(id)) : undefined;
      const whole = identified(resource, uid === undefined ? identity : { ...identity, uid }, undefined);
      return [{ id, next: { resource: whole, file }, isNews: true, action: 'created' }];
    }
    const isSame = former.specMark === specMark(resource.spec);
    const last = isSame ? undefined : recordedObject(id, former);
    if (last !== undefined && !this.#isAllowed(declaration, last, resource))
      return [{ id, next: { resource: last, file: former.file }, isNews: false }];
    const generation = former.generation + (isSame ? 0 : 1);
    const whole = identified(resource, { ...former, generation }, storedStatus(resource, former.status));
    const isNews = !isSame || former.file !== file;
    return [{ id, next: { resource: whole, file }, isNews, action: 'created' }];
  }

  #isAllowed(declaration: Declaration, current: Stored, next: Stored): boolean {
    const problems = changeProblems(current, next);
    this.#refuse(resourceId(next), reportRefusal(this.#parts.log, declaration, problems));
    return problems.length === 0;
  }

  #refuse(id: string, problems: readonly FoundProblem[]): void {
    if (problems.length > 0) this.#refused.set(id, [...(this.#refused.get(id) ?? []), ...problems]);
  }

  #update(id: string, current: Stored, resource: Stored, { file }: Declaration): Step[] {
    const { uid = '', creationTimestamp = '', generation = 1 } = current.metadata;
    const isSame = isDeepStrictEqual(current.spec, resource.spec);
    const identity = { uid, creationTimestamp, generation: generation + (isSame ? 0 : 1) };
    const whole = identified(resource, identity, current.status);
    const isUnchanged = isSame && isDeepStrictEqual(current, whole);
    const hasMoved = this.#parts.records.fileOf(id) !== file;
    if (isUnchanged && !hasMoved) return [];
    const next = { resource: isUnchanged ? current : whole, file };
    return [{ id, next, isNews: !isSame || hasMoved, action: isUnchanged ? undefined : 'changed' }];
  }

  #isMade(id: string): boolean {
    const [kind, namespace, name] = partsOf(id);
    return kind === 'APIKey' && this.#parts.made.has(namespace, name);
  }
}

function isKind(kind: string): kind is Kind {
  return kind === 'UpstreamNode' || kind === 'APIKey' || kind === 'MasterKey';
}
