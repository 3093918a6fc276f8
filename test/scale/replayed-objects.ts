import { hashKeyText, keyHint } from '../../src/resources/key-text.ts';
import type { ApiClient } from '../support/api-client.ts';
import { resourcePathOf } from '../support/resources.ts';
import { eachOf, keyName, keyText, nodeName, type SetSize } from './population.ts';

/** Objects as the API server gave them, for a server that plays its part. Plain data, so that it can be handed to a thread. */
export interface ReplayedObjects {
  /** JSON of key 0, with status and managed fields; `keyLine` makes every other one of it. */
  readonly key: string;
  /** JSON of each node. */
  readonly nodes: readonly string[];
  readonly keys: number;
}

/** Reads them from an API server that holds the set. */
export async function readObjects(
  client: ApiClient,
  namespace: string,
  size: SetSize,
): Promise<ReplayedObjects> {
  const key = JSON.stringify(await client.ask('GET', resourcePathOf('APIKey', namespace, keyName(0))));
  const nodes: string[] = [];
  await eachOf(size.nodes, async (index) => {
    const path = resourcePathOf('UpstreamNode', namespace, nodeName(index));
    nodes[index] = JSON.stringify(await client.ask('GET', path));
  });
  return { key, nodes, keys: size.keys };
}

/** A function that writes the JSON of key `index` as the API server would write it at a version. */
export function keyWriter(key: string): (index: number, enabled: boolean, version: number) => string {
  const { metadata } = JSON.parse(key) as { metadata: { uid: string; resourceVersion: string } };
  const names: readonly [string, (index: number) => string][] = [
    [keyName(0), keyName],
    [hashKeyText(keyText(0)), (index) => hashKeyText(keyText(index))],
    [`"hint":"${keyHint(keyText(0))}"`, (index) => `"hint":"${keyHint(keyText(index))}"`],
    ['"displayName":"Key 0"', (index) => `"displayName":"Key ${index}"`],
    [metadata.uid, (index) => metadata.uid.slice(0, -12) + String(index).padStart(12, '0')],
  ];
  return (index, enabled, version) => {
    let text = key;
    for (const [own, other] of names) text = text.replaceAll(own, other(index));
    return text
      .replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${version}"`)
      .replace(/"generation":\d+/, `"generation":${version}`)
      .replace(/"enabled":(true|false)/, `"enabled":${enabled}`);
  };
}
