import type { ApiKey } from '../../resources/api-key.ts';
import type { MasterKey } from '../../resources/master-key.ts';
import type { Secret } from '../../resources/secret.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { type CheckedObject, readFile } from './documents.ts';
import { type Finding, finding } from './finding.ts';
import { isNotMeantForUs, secretMadeBy } from './foreign.ts';

/** A valid resource and its place. */
export interface CheckedResource<R> {
  readonly resource: R;
  readonly object: CheckedObject;
}

/** What a folder declares. */
export interface CheckedFolder {
  /** Objects of ours, valid or not. */
  readonly objects: readonly CheckedObject[];
  readonly nodes: readonly CheckedResource<UpstreamNode>[];
  readonly keys: readonly CheckedResource<ApiKey | MasterKey>[];
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Secrets, as `namespace/name`, that an object in the folder creates without their content. */
  readonly madeSecrets: ReadonlySet<string>;
  /** Namespaces that documents of any kind name. */
  readonly namespaces: ReadonlySet<string>;
  /** The number of objects of other APIs. */
  readonly foreign: number;
  readonly files: number;
}

/** Collects what files declare. */
export class FolderReading {
  readonly #objects: CheckedObject[] = [];
  readonly #nodes: CheckedResource<UpstreamNode>[] = [];
  readonly #keys: CheckedResource<ApiKey | MasterKey>[] = [];
  readonly #secrets = new Map<string, Secret>();
  readonly #madeSecrets = new Set<string>();
  readonly #namespaces = new Set<string>();
  #foreign = 0;
  #files = 0;

  /** Reads a file, and returns the findings that need no other file. */
  add(file: string, text: string): readonly Finding[] {
    this.#files += 1;
    const { objects, findings } = readFile(file, text);
    const base = file.slice(file.lastIndexOf('/') + 1);
    for (const object of objects) this.#take(object);
    if (!/^kustomization\.ya?ml$/i.test(base)) return findings;
    const place = { file, line: 1, column: 1, object: undefined, field: '' };
    const message = 'kustomizations are not followed: the files below are checked as they are';
    const remedy = 'to check what is applied: kustomize build DIR | model-gateway check -';
    return [...findings, finding('not-judged', { ...place, message, remedy })];
  }

  folder(): CheckedFolder {
    return {
      objects: this.#objects,
      nodes: this.#nodes,
      keys: this.#keys,
      secrets: this.#secrets,
      madeSecrets: this.#madeSecrets,
      namespaces: this.#namespaces,
      foreign: this.#foreign,
      files: this.#files,
    };
  }

  #take(object: CheckedObject): void {
    const { resource } = object;
    if (resource === undefined) {
      const raw = object.raw();
      const secret = secretMadeBy(raw);
      if (secret !== undefined) this.#madeSecrets.add(secret);
      if (object.foreign !== undefined || secret !== undefined || isNotMeantForUs(raw)) {
        this.#foreign += 1;
        this.#noteNamespace(raw);
      } else {
        this.#objects.push(object);
      }
      return;
    }
    this.#objects.push(object);
    const { namespace, name } = resource.metadata;
    if (resource.kind === 'UpstreamNode') this.#nodes.push({ resource, object });
    else if (resource.kind === 'Secret') this.#secrets.set(`${namespace}/${name}`, resource);
    else this.#keys.push({ resource, object });
    if (resource.kind !== 'UpstreamNode') this.#namespaces.add(namespace);
  }

  #noteNamespace(raw: unknown): void {
    if (typeof raw !== 'object' || raw === null) return;
    const { kind, metadata } = raw as {
      kind?: unknown;
      metadata?: { name?: unknown; namespace?: unknown } | null;
    };
    const namespace = kind === 'Namespace' ? metadata?.name : metadata?.namespace;
    if (typeof namespace === 'string') this.#namespaces.add(namespace);
  }
}
