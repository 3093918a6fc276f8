import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listPages } from '../../kube/list.ts';
import { resourcePath } from '../../kube/paths.ts';
import { createObject, deleteObject, getObject, jsonPatch, serverSideApply } from '../../kube/verbs.ts';
import { apiVersion } from '../../resources/parse.ts';
import { resourceAddress } from '../../store/resource-address.ts';
import type { Kind } from '../../store/store.ts';
import { type Asked, apiFailure, changedMeanwhile, ownedByOthers } from './api-failure.ts';
import { clusterGateways } from './cluster-gateways.ts';
import { clusterRecipient } from './cluster-recipient.ts';
import { clusterRefusal } from './cluster-rights.ts';
import { clusterSecretEntry } from './cluster-secret.ts';
import { watchCluster } from './cluster-watch.ts';
import {
  DeclarationError,
  type Declarations,
  type Declared,
  type Ref,
  refOf,
  type WriteOptions,
} from './declarations.ts';
import { bodyOf, declaredObject, versionOf } from './declared-object.ts';
import type { Edit } from './edit.ts';
import { fieldText } from './field-tree.ts';
import { type PatchStep, patchSteps } from './json-patch.ts';
import { fieldManager, withOurFields } from './managed-fields.ts';
import { manifestDiff } from './manifest-diff.ts';
import { type PlannedEdit, planEdit } from './planned-edit.ts';

export interface ClusterOptions {
  /** By default that of the context. */
  readonly namespace?: string | undefined;
  /** Where the controller runs, whose ConfigMap holds the sealing recipient; searched for if absent. */
  readonly homeNamespace?: string | undefined;
}

/** How often an edit is tried if the object changes, because the controller writes statuses all the time. */
const maxAttempts = 12;

/** The declarations of a cluster, read and edited with the permissions of the client's user. */
export function clusterDeclarations(client: KubeClient, options: ClusterOptions = {}): Declarations {
  const { context, server } = client.place();
  const namespace = options.namespace ?? client.namespace();
  const pathOf = (kind: Kind, inNamespace: string | undefined, name?: string) =>
    resourcePath(resourceAddress(kind, inNamespace, name));

  /** Runs calls to the server. Throws DeclarationError if one fails, and the signal's reason if it aborts. */
  async function ask<T>(asked: Asked, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      throw apiFailure(error, asked, client);
    }
  }

  const read = (ref: Ref, signal: AbortSignal) =>
    ask({ verb: 'get', ...ref }, signal, () =>
      getObject(client, pathOf(ref.kind, ref.namespace, ref.name), { signal }),
    );

  async function readAt(ref: Ref, version: string | undefined, signal: AbortSignal): Promise<unknown> {
    const object = await read(ref, signal);
    if (version !== undefined && versionOf(object) !== version) throw changedMeanwhile(ref);
    return object;
  }

  async function edit<K extends Kind>(
    ref: Ref<K>,
    edits: readonly Edit[],
    write: WriteOptions,
    signal: AbortSignal,
  ): Promise<Declared<K>> {
    for (let attempt = 1; ; attempt += 1) {
      const object = await readAt(ref, write.version, signal);
      const plan = planEdit(ref.kind, object, edits);
      if (!plan.isChange) return declared(ref.kind, object);
      const settled = plan.claims.filter(({ isSettled }) => isSettled);
      if (settled.length > 0 && write.force !== true) {
        throw ownedByOthers(
          ref,
          settled.map(({ keys, manager }) => ({ field: fieldText(keys), manager })),
        );
      }
      try {
        const answer = await (plan.isBeyondApply ? patch : apply)(ref, object, plan, write, signal);
        return declared(ref.kind, answer);
      } catch (error) {
        signal.throwIfAborted();
        const { kind, namespace: inNamespace, name } = ref;
        const metadata = { ...plan.wanted.metadata, namespace: inNamespace, name };
        const wanted = { apiVersion, kind, metadata, spec: plan.wanted.spec };
        if (!hasChanged(error) || attempt === maxAttempts) {
          throw apiFailure(error, { verb: 'patch', ...ref, wanted }, client);
        }
      }
    }
  }

  /** One server-side apply of all our fields, for exactly the version that was read. */
  function apply(ref: Ref, object: unknown, plan: PlannedEdit, write: WriteOptions, signal: AbortSignal) {
    const { metadata = {}, ...others } = plan.applied as { metadata?: object };
    const { name, namespace: inNamespace, kind } = ref;
    const body = {
      apiVersion,
      kind,
      metadata: { ...metadata, name, namespace: inNamespace, resourceVersion: resourceVersionOf(object) },
      ...others,
    };
    // Claims that are not settled may be taken over. If an owner had changed since, the version would not match.
    const force = write.force === true || plan.claims.length > 0;
    return serverSideApply(client, pathOf(kind, inNamespace, name), body, {
      fieldManager,
      force,
      dryRun: write.dryRun,
      strict: true,
      signal,
    });
  }

  /**
   * For what an apply cannot do: remove fields that others own, or that are unowned. It is one JSON patch of everything, so
   * that rules across fields see all changes together; then the owners are set as an apply would have set them.
   */
  async function patch(
    ref: Ref,
    object: unknown,
    plan: PlannedEdit,
    write: WriteOptions,
    signal: AbortSignal,
  ) {
    const { dryRun } = write;
    const steps = patchSteps(bodyOf(object), plan.wanted);
    const answer = await patchVersion(ref, object, steps, { dryRun, strict: true, signal });
    return dryRun === true ? answer : own(ref, answer, plan.applied, signal);
  }

  /** Makes our manager the owner, as an apply would, of what it has just written in another way. */
  async function own(ref: Ref, object: unknown, applied: object, signal: AbortSignal): Promise<unknown> {
    const value = withOurFields(object, apiVersion, applied);
    try {
      return await patchVersion(ref, object, [{ op: 'replace', path: '/metadata/managedFields', value }], {
        signal,
      });
    } catch {
      // The object has changed, or the permission to patch is missing: the next edit counts what we own by update as ours.
      signal.throwIfAborted();
      return object;
    }
  }

  /** A JSON patch of exactly the version that was read. */
  function patchVersion(
    { kind, namespace: inNamespace, name }: Ref,
    object: unknown,
    steps: readonly PatchStep[],
    options: {
      readonly dryRun?: boolean | undefined;
      readonly strict?: boolean;
      readonly signal: AbortSignal;
    },
  ): Promise<unknown> {
    const version = { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersionOf(object) };
    return jsonPatch(client, pathOf(kind, inNamespace, name), [version, ...steps], {
      fieldManager,
      ...options,
    });
  }

  return {
    place: context === '' ? `cluster ${server}` : `context ${context}`,
    namespace,

    async list(kind, inNamespace, signal) {
      const found: Declared<typeof kind>[] = [];
      await ask({ verb: 'list', kind, namespace: inNamespace }, signal, async () => {
        for await (const page of listPages(client, { path: pathOf(kind, inNamespace), signal })) {
          for (const object of page.items) {
            const read = declaredObject(kind, object);
            if (read !== undefined) found.push(read);
          }
        }
      });
      return found;
    },

    async get(ref, signal) {
      return declared(ref.kind, await read(ref, signal));
    },

    watch: (kind, inNamespace, sink, signal, listed, faulty) =>
      watchCluster({
        client,
        kind,
        path: pathOf(kind, inNamespace),
        namespace: inNamespace,
        sink,
        signal,
        listed,
        faulty,
      }),

    async create(manifest, write, signal) {
      const { kind, metadata, spec } = manifest;
      const ref = { kind, namespace: metadata.namespace, name: metadata.name };
      const wanted = { apiVersion, kind, metadata, spec };
      const answer = await ask({ verb: 'create', ...ref, wanted }, signal, () =>
        createObject(client, pathOf(kind, ref.namespace), wanted, {
          fieldManager,
          dryRun: write.dryRun,
          strict: true,
          signal,
        }),
      );
      const { labels, annotations } = metadata;
      const stated = { ...(labels && { labels }), ...(annotations && { annotations }) };
      const applied = { ...(Object.keys(stated).length > 0 && { metadata: stated }), spec };
      return declared(kind, write.dryRun === true ? answer : await own(ref, answer, applied, signal));
    },

    edit,

    async rewrite(before, text, write, signal) {
      const options = { ...write, version: write.version ?? before.version };
      return edit(refOf(before), manifestDiff(before.manifest, text), options, signal);
    },

    async remove(ref, write, signal) {
      for (let attempt = 1; ; attempt += 1) {
        const object = write.version === undefined ? undefined : await readAt(ref, write.version, signal);
        try {
          await deleteObject(client, pathOf(ref.kind, ref.namespace, ref.name), {
            dryRun: write.dryRun,
            signal,
            ...(object !== undefined && { resourceVersion: resourceVersionOf(object) }),
          });
          return;
        } catch (error) {
          signal.throwIfAborted();
          if (!hasChanged(error) || attempt === maxAttempts)
            throw apiFailure(error, { verb: 'delete', ...ref }, client);
        }
      }
    },

    refusal: (act, kind, inNamespace, signal) =>
      ask({ verb: 'create', kind, namespace: inNamespace }, signal, () =>
        clusterRefusal(client, act, kind, inNamespace, signal),
      ),
    manifestProblems: async () => [],
    secretEntry: (inNamespace, name, entry, signal) =>
      clusterSecretEntry(client, { namespace: inNamespace, name }, entry, signal),
    sealingRecipient: (signal) => clusterRecipient(client, options.homeNamespace, signal),
    gateways: clusterGateways(client, options.homeNamespace),
  };
}

/** Whether the call failed because the object is no longer the version that was read. */
function hasChanged(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.status !== 409) return false;
  return error.reason === 'Conflict' && !error.causes.some(({ reason }) => reason === 'FieldManagerConflict');
}

function declared<K extends Kind>(kind: K, object: unknown): Declared<K> {
  const read = declaredObject(kind, object);
  if (read !== undefined) return read;
  throw new DeclarationError(
    'Invalid',
    `The cluster has a ${kind} that this version cannot read; is it of a newer version?`,
  );
}

function resourceVersionOf(object: unknown): string | undefined {
  return (object as { metadata?: { resourceVersion?: string } } | undefined)?.metadata?.resourceVersion;
}
