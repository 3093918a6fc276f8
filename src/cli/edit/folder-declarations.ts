import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { apiVersion } from '../../resources/parse.ts';
import { keyOf } from '../../store/folder/manifest-problems.ts';
import { stateFile } from '../../store/folder/state-file.ts';
import type { Kind, ResourceOf } from '../../store/store.ts';
import { changedMeanwhile, invalidResource, ourCause, thing } from './api-failure.ts';
import { applyEdits, valueAt } from './apply-edits.ts';
import {
  DeclarationError,
  type Declarations,
  type Declared,
  type Ref,
  refOf,
  type WriteOptions,
} from './declarations.ts';
import { declaredMade } from './declared-made.ts';
import type { Edit } from './edit.ts';
import { documentValue, editYaml } from './edit-yaml.ts';
import { folderData } from './folder-data.ts';
import { fileFailure, judge } from './folder-failure.ts';
import { folderIndex, type Placed, placedIn, placedNow } from './folder-index.ts';
import { keptDeclarations, unreadRemark } from './kept-declarations.ts';
import { manifestDiff } from './manifest-diff.ts';
import { manifestText, markerOf, objectAt, withObjectAt } from './manifest-text.ts';
import { manifestYaml } from './manifest-yaml.ts';
import { withoutDocument } from './remove-document.ts';
import { FileChangedError, writeManifest, writeNewManifest } from './write-manifest.ts';
import { UneditableError } from './yaml-source.ts';

export interface FolderOptions {
  readonly manifests: string;
  /** The data folder of the process that runs on these manifests; by default `data` beside the folder, if it exists. */
  readonly data?: string | undefined;
  /** The namespace that is used if none is named; by default `default`. */
  readonly namespace?: string | undefined;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

const maxAttempts = 5;

/** The declarations of a folder of manifests, as standalone mode reads it. Edits change the text of the files in place. */
export function folderDeclarations(options: FolderOptions): Declarations {
  const { manifests, namespace = 'default', now = Date.now } = options;
  const data = folderData(options.data === undefined ? dataBeside(manifests) : resolve(options.data));
  const index = folderIndex(resolve(manifests), now);

  async function content() {
    try {
      return await index.read();
    } catch (error) {
      throw fileFailure(error, manifests);
    }
  }

  const sourceOf = ({ file, document, documents, item }: Placed) => {
    const path = join(manifests, file);
    const within = documents > 1 ? `, document ${document}` : '';
    return `${path}${within}${item === undefined ? '' : `, item ${item + 1}`}`;
  };

  async function declaredOf<K extends Kind>(placed: Placed, resource: ResourceOf[K]): Promise<Declared<K>> {
    let manifest: string | undefined;
    return {
      resource: await data.withStatus(resource),
      version: placed.digest,
      source: sourceOf(placed),
      managedBy: undefined,
      get manifest() {
        manifest ??= manifestText(placed);
        return manifest;
      },
    };
  }

  async function made<K extends Kind>(ref: Ref<K>): Promise<Declared<K> | undefined> {
    if (ref.kind !== 'APIKey') return undefined;
    const found = (await data.madeKeys()).get(idOf(ref));
    return found === undefined ? undefined : (declaredMade(data, found) as Promise<Declared<never>>);
  }

  async function kept<K extends Kind>(ref: Ref<K>): Promise<Declared<K> | undefined> {
    return (await keptDeclarations(await content(), data, manifests)).get(idOf(ref)) as
      | Declared<K>
      | undefined;
  }

  /** Where a resource is declared, and that it is valid. Throws DeclarationError. */
  async function find<K extends Kind>(ref: Ref<K>): Promise<{ placed: Placed; resource: ResourceOf[K] }> {
    const { placed: all, problems } = await content();
    const placed = all.get(idOf(ref));
    if (placed === undefined || placed.resource !== undefined) {
      const found = await kept(ref);
      if (found?.kept !== undefined)
        throw new DeclarationError('Invalid', `${thing(ref)} cannot be changed: ${found.kept}.`);
    }
    if (placed === undefined) {
      throw new DeclarationError(
        'NotFound',
        `There is no ${thing(ref)} in ${manifests}${unreadRemark(problems)}`,
      );
    }
    if (placed.resource === undefined) {
      throw invalidResource(ref, placed.problems.map(ourCause), ` (${sourceOf(placed)})`);
    }
    return { placed, resource: placed.resource as ResourceOf[K] };
  }

  async function refuseMade(ref: Ref): Promise<void> {
    if ((await made(ref)) === undefined) return;
    throw new DeclarationError(
      'Forbidden',
      `${thing(ref)} was made through /v1/keys and is in no manifest; delete it through that API (DELETE /v1/keys/${ref.name} with a master key), or declare another.`,
    );
  }

  /**
   * Changes one file: `change` returns the new text for the old one, or undefined to delete the file. Tries again if the
   * file changes at the same time.
   */
  async function rewriteFile<K extends Kind>(
    ref: Ref<K>,
    write: WriteOptions,
    signal: AbortSignal,
    change: (text: string, placed: Placed, resource: ResourceOf[K]) => string | undefined,
  ): Promise<{ text: string | undefined; placed: Placed }> {
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      await refuseMade(ref);
      const { placed } = await find(ref);
      if (write.version !== undefined && placed.digest !== write.version) throw changedMeanwhile(ref);
      const path = join(manifests, placed.file);
      let now = placed;
      // The file may have changed since the folder was read, so that the resource is another one.
      const changed = (before: string) => {
        const found = placedNow(placed, before, index.parsed);
        if (write.version !== undefined && found.digest !== write.version) throw changedMeanwhile(ref);
        now = found;
        return change(before, found, found.resource as ResourceOf[K]);
      };
      try {
        const text =
          write.dryRun === true ? changed(await readFile(path, 'utf8')) : await writeManifest(path, changed);
        return { text, placed: now };
      } catch (error) {
        if (error instanceof DeclarationError) throw error;
        if (error instanceof UneditableError) {
          throw new DeclarationError(
            'Invalid',
            `${sourceOf(placed)} was not changed: ${error.message}; edit the file by hand.`,
          );
        }
        if (!(error instanceof FileChangedError)) throw fileFailure(error, path);
        if (attempt === maxAttempts) throw changedMeanwhile(ref);
      }
    }
  }

  /** The resource in the text of its file after an edit. */
  async function after<K extends Kind>(ref: Ref<K>, file: string, text: string): Promise<Declared<K>> {
    const placed = placedIn(file, text, index.parsed).find(({ id }) => id === idOf(ref));
    if (placed?.resource === undefined)
      throw new DeclarationError('Invalid', `${thing(ref)} would not be declared any more.`);
    return declaredOf(placed, placed.resource as ResourceOf[K]);
  }

  async function edit<K extends Kind>(
    ref: Ref<K>,
    edits: readonly Edit[],
    write: WriteOptions,
    signal: AbortSignal,
  ): Promise<Declared<K>> {
    const { text, placed } = await rewriteFile(ref, write, signal, (before, place, resource) => {
      // A value that the field has by default need not be written.
      const news = edits.filter(
        (each) => 'remove' in each || !isDeepStrictEqual(valueAt(resource, each.path), each.value),
      );
      const stretch = before.slice(place.start, place.end);
      const whole = documentValue(stretch, place.index);
      const wanted = applyEdits(objectAt(whole, place.item), news);
      judge(ref, resource, wanted);
      const edited = editYaml(stretch, place.index, withObjectAt(whole, place.item, wanted));
      return before.slice(0, place.start) + edited + before.slice(place.end);
    });
    return after(ref, placed.file, text ?? '');
  }

  async function list<K extends Kind>(kind: K, inNamespace: string | undefined): Promise<Declared<K>[]> {
    const [now, keys] = await Promise.all([content(), kind === 'APIKey' ? data.madeKeys() : new Map()]);
    const isAsked = (resource: ResourceOf[Kind]): resource is ResourceOf[K] =>
      resource.kind === kind && (inNamespace === undefined || resource.metadata.namespace === inNamespace);
    const found: Declared<K>[] = [];
    const kept = await keptDeclarations(now, data, manifests);
    for (const each of now.placed.values()) {
      const { id, resource } = each;
      if (resource === undefined || keys.has(id) || kept.has(id) || !isAsked(resource)) continue;
      found.push(await declaredOf(each, resource));
    }
    for (const [id, last] of kept) {
      if (!keys.has(id) && isAsked(last.resource)) found.push(last as Declared<K>);
    }
    for (const each of keys.values()) {
      if (isAsked(each.key)) found.push((await declaredMade(data, each)) as Declared<never>);
    }
    return found.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  }

  return {
    place: `folder ${manifests}`,
    namespace,

    list,

    async get(ref) {
      const key = await made(ref);
      if (key !== undefined) return key;
      const last = await kept(ref);
      if (last !== undefined) return last;
      const { placed, resource } = await find(ref);
      return declaredOf(placed, resource);
    },

    async watch(kind, inNamespace, sink, signal, listed) {
      const folders = async () => [...(await content()).folders, ...data.folders()];
      // Loaded only for a watch: with the log it takes as long as everything else that a listing loads.
      const { watchFolder } = await import('./folder-watch.ts');
      return watchFolder({ folders, list: () => list(kind, inNamespace), sink, signal, listed });
    },

    async create(manifest, write, signal) {
      signal.throwIfAborted();
      const { kind, metadata, spec } = manifest;
      const ref = { kind, namespace: metadata.namespace, name: metadata.name };
      const { namespace: inNamespace, ...named } = metadata;
      const placeOfIt = inNamespace === 'default' ? named : metadata;
      const object = { apiVersion, kind, metadata: placeOfIt, spec };
      judge(ref, undefined, object);
      const id = idOf(ref);
      const text = manifestYaml(object);
      for (let number = 1; ; number += 1) {
        const found = (await content()).placed.get(id);
        const last = await kept(ref);
        if (found !== undefined || last !== undefined || (await made(ref)) !== undefined) {
          const source = found === undefined ? last?.source : sourceOf(found);
          const where = source === undefined ? '' : ` (${source})`;
          throw new DeclarationError(
            'AlreadyExists',
            `There is ${thing(ref)} already${where}; edit it, or choose another name.`,
          );
        }
        const file = fileNameOf(ref, number);
        if (existsSync(join(manifests, file))) continue;
        try {
          const isWritten = write.dryRun === true || (await writeNewManifest(join(manifests, file), text));
          if (isWritten) return await after(ref as Ref<typeof kind>, file, text);
        } catch (error) {
          throw error instanceof DeclarationError ? error : fileFailure(error, join(manifests, file));
        }
      }
    },

    edit,

    async rewrite(before, edited, write, signal) {
      const ref = refOf(before);
      const options = { ...write, version: write.version ?? before.version };
      const edits = manifestDiff(before.manifest, edited);
      const { placed } = await find(ref);
      // An entry of a list has no text that could be replaced.
      if (!placed.isAlone) {
        return edit(ref, edits, options, signal) as never;
      }
      const { text } = await rewriteFile(ref, options, signal, (whole, place, resource) => {
        const next = edited.endsWith('\n') ? edited : `${edited}\n`;
        judge(ref, resource, documentValue(next, 0));
        const stretch = whole.slice(place.start, place.end);
        const lineBreak = stretch.includes('\r\n') ? '\r\n' : '\n';
        const body = next.replaceAll(/\r?\n/g, lineBreak);
        return whole.slice(0, place.start) + markerOf(stretch) + body + whole.slice(place.end);
      });
      return after(ref, placed.file, text ?? '') as never;
    },

    async remove(ref, write, signal) {
      await rewriteFile(ref, write, signal, (text, placed) => withoutDocument(text, placed));
    },

    async manifestProblems() {
      const [{ problems }, reported] = await Promise.all([content(), data.manifestProblems()]);
      const known = new Map(reported.map((problem) => [keyOf(problem), problem]));
      // Problems of the texts are read here, so they are up to date. Only the process knows why a valid document is not in force.
      return [
        ...problems.map((problem) => {
          const { since, remedy = problem.remedy } = known.get(keyOf(problem)) ?? {};
          return { ...problem, remedy, since };
        }),
        ...reported.filter(({ scope }) => scope === 'object'),
      ];
    },

    dataProblem: () => data.problem(),

    // The person who can write the files may do everything.
    async refusal() {
      return undefined;
    },
    secretEntry: (inNamespace, name, entry) => data.secretEntry(inNamespace, name, entry),
    async sealingRecipient() {
      const recipient = await data.recipient();
      if (recipient !== undefined) return recipient;
      throw new DeclarationError(
        'NotFound',
        'The key that credentials are sealed to was not found: name the data folder of the gateway with --data, after it was started once.',
      );
    },
  };
}

function idOf({ kind, namespace, name }: Ref): string {
  return `${kind}/${namespace}/${name}`;
}

function placeOf({ resource: { metadata } }: Declared): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function fileNameOf({ kind, namespace, name }: Ref, number: number): string {
  const place = namespace === 'default' ? '' : `${namespace}-`;
  return `${kind.toLowerCase()}-${place}${name}${number === 1 ? '' : `-${number}`}.yaml`;
}

function dataBeside(manifests: string): string | undefined {
  const path = join(dirname(resolve(manifests)), 'data');
  return existsSync(join(path, stateFile)) ? path : undefined;
}
