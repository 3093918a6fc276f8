import { chown, mkdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { ApiClient } from '../api-client.ts';
import { type Pod, type ProjectedSource, podField, type Volume } from './pod.ts';

/** A token is asked for anew after this share of its life, as the kubelet does. */
const rotateAfterShare = 0.8;

/** A pod's volumes as folders, one below `folder` for each. */
export interface Volumes {
  /** Writes what has changed since, each volume in one atomic step. @throws naming an object that is missing */
  refresh(): Promise<void>;
}

export interface VolumesOf {
  readonly pod: Pod;
  readonly podIP: string;
  readonly folder: string;
  readonly client: ApiClient;
  /** Who owns the files; absent: whoever runs the tests. */
  readonly owner?: number | undefined;
}

type Files = Record<string, string | Buffer>;

export async function makeVolumes({ pod, podIP, folder, client, owner }: VolumesOf): Promise<Volumes> {
  const { namespace } = pod.metadata;
  const volumes = pod.spec.volumes ?? [];
  const written = new Map<string, string>();
  const tokens = new Map<string, { token: string; renewAt: number }>();
  let swaps = 0;
  for (const { name } of volumes) {
    await mkdir(join(folder, name), { recursive: true, mode: 0o777 });
    if (owner !== undefined) await chown(join(folder, name), owner, owner);
  }

  async function entriesOf(
    kind: 'secrets' | 'configmaps',
    name: string,
    { items, optional }: { items?: readonly { key: string; path: string }[]; optional?: boolean },
  ): Promise<Files> {
    const { status, body } = await client.send('GET', `/api/v1/namespaces/${namespace}/${kind}/${name}`);
    if (status === 404 && optional === true) return {};
    if (status !== 200) throw new Error(`${kind} ${namespace}/${name}: HTTP ${status}`);
    const { data = {} } = body as { data?: Record<string, string> };
    const content = (value: string) => (kind === 'secrets' ? Buffer.from(value, 'base64') : value);
    if (items === undefined) {
      return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, content(value)]));
    }
    return Object.fromEntries(
      items.map(({ key, path }) => {
        const value = data[key];
        if (value === undefined) throw new Error(`${kind} ${namespace}/${name} has no entry ${key}`);
        return [path, content(value)];
      }),
    );
  }

  async function tokenFor(
    at: string,
    source: NonNullable<ProjectedSource['serviceAccountToken']>,
  ): Promise<string> {
    const known = tokens.get(at);
    if (known !== undefined && Date.now() < known.renewAt) return known.token;
    const seconds = source.expirationSeconds ?? 3_600;
    const account = pod.spec.serviceAccountName ?? 'default';
    const answer = await client.ask(
      'POST',
      `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      {
        body: {
          spec: {
            expirationSeconds: seconds,
            ...(source.audience === undefined ? {} : { audiences: [source.audience] }),
            boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: pod.metadata.uid },
          },
        },
      },
    );
    const { token } = z.object({ status: z.object({ token: z.string() }) }).parse(answer).status;
    tokens.set(at, { token, renewAt: Date.now() + seconds * 1_000 * rotateAfterShare });
    return token;
  }

  async function projectedFiles(volume: string, source: ProjectedSource): Promise<Files> {
    if (source.configMap) return entriesOf('configmaps', source.configMap.name, source.configMap);
    if (source.secret) return entriesOf('secrets', source.secret.name, source.secret);
    if (source.serviceAccountToken) {
      const { path } = source.serviceAccountToken;
      return { [path]: await tokenFor(`${volume}/${path}`, source.serviceAccountToken) };
    }
    const items = source.downwardAPI?.items ?? [];
    return Object.fromEntries(
      items.map(({ path, fieldRef }) => [path, podField(pod, podIP, fieldRef?.fieldPath ?? '')]),
    );
  }

  async function filesOf(volume: Volume): Promise<Files> {
    if (volume.secret) return entriesOf('secrets', volume.secret.secretName, volume.secret);
    if (volume.configMap) return entriesOf('configmaps', volume.configMap.name, volume.configMap);
    const sources = volume.projected?.sources ?? [];
    const all = await Promise.all(sources.map((source) => projectedFiles(volume.name, source)));
    return Object.assign({}, ...all) as Files;
  }

  /** As the kubelet: the files lie in a new folder, and the link `..data` moves over to it. */
  async function swap(target: string, files: Files): Promise<void> {
    swaps += 1;
    const fresh = `..${swaps}`;
    const old = await readlink(join(target, '..data')).catch(() => undefined);
    await mkdir(join(target, fresh));
    for (const [path, content] of Object.entries(files)) {
      const file = join(target, fresh, path);
      await writeFile(file, content, { mode: owner === undefined ? 0o600 : 0o400 });
      if (owner !== undefined) await chown(file, owner, owner);
    }
    await symlink(fresh, join(target, '..new'));
    await rename(join(target, '..new'), join(target, '..data'));
    for (const path of Object.keys(files)) {
      await symlink(join('..data', path), join(target, path)).catch(() => undefined);
    }
    if (old !== undefined) await rm(join(target, old), { recursive: true });
  }

  return {
    async refresh() {
      for (const volume of volumes) {
        if (volume.emptyDir !== undefined) continue;
        const files = await filesOf(volume);
        const fingerprint = JSON.stringify(files);
        if (written.get(volume.name) === fingerprint) continue;
        await swap(join(folder, volume.name), files);
        written.set(volume.name, fingerprint);
      }
    },
  };
}
