import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { condition, type ResourceKind } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

// A key that was rotated or revoked is not accepted again if an old copy is written into the Secret, as callers see it.
let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['retired-keys'] });
  const { url } = await stage.upstream({ models: ['m'] });
  await stage.resources.create('UpstreamNode', stage.home, 'n', { baseURL: url });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const paths = () => `/api/v1/namespaces/${stage.home}/secrets`;
const textOf = async (name: string): Promise<string> =>
  (await stage.resources.secret(stage.home, name))?.text['apiKey'] ?? '';
const opens = async (kind: ResourceKind, text: string): Promise<boolean> => {
  const caller = stage.caller(text);
  const answer = kind === 'APIKey' ? await caller.chat('m') : await caller.send('GET', '/keys');
  return answer.status === 200;
};

async function issued(kind: ResourceKind, name: string, former: readonly string[]): Promise<string> {
  let text = '';
  await eventually(`${name} has another key, which opens`, async () => {
    text = await textOf(name);
    return text !== '' && !former.includes(text) && (await opens(kind, text));
  });
  return text;
}

/** The Secret as `kubectl get -o yaml` shows it, without what the API server sets. */
async function copyOf(name: string, owners: boolean): Promise<object> {
  const { metadata, data } = (await stage.cluster.client.ask('GET', `${paths()}/${name}`)) as {
    metadata: { labels: object; annotations: object; ownerReferences: object[] };
    data: object;
  };
  const { labels, annotations, ownerReferences } = metadata;
  return { metadata: { name, labels, annotations, ...(owners ? { ownerReferences } : {}) }, data };
}

test.each([['APIKey'], ['MasterKey']] as const)(
  '%s: an old copy of the Secret is replaced, however it comes',
  async (kind) => {
    const { client } = stage.cluster;
    const { resources, home } = stage;
    const name = kind.toLowerCase();
    const adopt = { annotations: { 'modelgateway.dev/adopt-secret': 'true' } };
    await resources.create(kind, home, name, { secretName: name }, adopt);
    const first = await issued(kind, name, []);
    const [copy, unowned] = [await copyOf(name, true), await copyOf(name, false)];
    await resources.patch(kind, home, name, { spec: { rotation: { revision: 1, overlapSeconds: 0 } } });
    const former = [first, await issued(kind, name, [first])];
    const isRefused = async (how: string): Promise<void> => {
      former.push(await issued(kind, name, former));
      await stage.until(
        `refused ${how}`,
        kind,
        name,
        (key) => condition(key, 'Ready') === 'True FormerKeyRefused',
      );
      expect(await opens(kind, first), how).toBe(false);
      expect(await opens(kind, former.at(-2) ?? ''), how).toBe(false);
    };

    await client.ask('PATCH', `${paths()}/${name}`, { body: copy });
    await isRefused('by an edit of the Secret');

    const processes = [...stage.controllers];
    await Promise.all(processes.map((process) => process.stop()));
    await client.ask('DELETE', `${paths()}/${name}`);
    await client.ask('POST', paths(), { body: unowned });
    await stage.start('controller');
    await isRefused('by a Secret without an owner, made while no controller ran');

    await client.ask('DELETE', `${paths()}/${name}`);
    former.push(await issued(kind, name, former));
    await client.ask('PATCH', `${paths()}/${name}`, { body: copy });
    await isRefused('by a Secret that was deleted and got the old content');
    const { conditions, retiredHashes } = (await resources.get(kind, home, name)).status as unknown as {
      conditions: { message: string }[];
      retiredHashes: string[];
    };
    expect(conditions[0]?.message).toContain('Stop what writes the old copy');
    expect(retiredHashes).toHaveLength(former.length - 1);
  },
);
