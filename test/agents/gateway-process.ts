import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { generateKeyText, hashKeyText } from '../../src/resources/key-text.ts';
import { eventually } from '../support/eventually.ts';
import type { Guard } from '../support/guard.ts';
import { startChild } from './child.ts';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const apiVersion = 'modelgateway.dev/v1alpha1';

/** `model-gateway standalone` as a process of its own, with one node and one key. */
export interface GatewayProcess extends AsyncDisposable {
  readonly port: number;
  /** The text of the key. */
  readonly key: string;
  /** Its log lines of level warn and worse. */
  complaints(): readonly string[];
}

/** Starts it on a free port, its manifests below `folder`; the node has no format but chat-completions. */
export async function startGatewayProcess(options: {
  readonly folder: string;
  readonly node: {
    readonly baseURL: string;
    readonly key: string;
    readonly model: string;
    /** Another name of the model, for callers. */
    readonly alias: string;
    readonly card: Readonly<Record<string, unknown>> | undefined;
  };
  /** What the key says of conversions. */
  readonly conversion: 'Lossy' | 'Strict';
  readonly timeoutMs: number;
  readonly guard: Guard;
}): Promise<GatewayProcess> {
  const { folder, node, conversion, timeoutMs, guard } = options;
  const key = generateKeyText('api', randomBytes);
  const manifests = join(folder, 'manifests');
  await mkdir(manifests, { recursive: true });
  const spec = {
    baseURL: node.baseURL,
    apiKeySecretRef: { name: 'scripted' },
    models: [{ name: node.model, aliases: [node.alias], card: node.card }],
  };
  const documents = [
    { apiVersion, kind: 'UpstreamNode', metadata: { name: 'scripted' }, spec },
    { apiVersion, kind: 'APIKey', metadata: { name: 'agent' }, spec: { hash: hashKeyText(key), conversion } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'scripted' }, stringData: { apiKey: node.key } },
  ];
  await writeFile(join(manifests, 'all.yaml'), documents.map((one) => JSON.stringify(one)).join('\n---\n'));
  const child = startChild({
    command: process.execPath,
    args: [
      ...[mainFile, 'standalone', '--manifests', manifests, '--data', join(folder, 'data')],
      ...['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'],
    ],
    cwd: folder,
    env: {},
    ...{ timeoutMs, guard },
  });
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  const listening = (): number | undefined =>
    linesOf(child.stdout()).find(({ msg }) => msg === 'Serving')?.listen?.port;
  try {
    await eventually('the gateway serves', async () => {
      if (ended) throw new Error('the gateway ended');
      return listening() !== undefined && (await knowsModels(listening() ?? 0, key));
    });
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw new Error(`${String(error)}; its log:\n${child.tail()}`);
  }
  return {
    port: listening() ?? 0,
    key,
    complaints: () =>
      linesOf(child.stdout())
        .filter(({ level }) => level === 'warn' || level === 'error' || level === 'fatal')
        .map((line) => JSON.stringify(line)),
    [Symbol.asyncDispose]: child[Symbol.asyncDispose],
  };
}

/** Its node is found out about only once it has been synced. */
async function knowsModels(port: number, key: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`http://127.0.0.1:${port}/v1/models`, {
    headers,
    signal: AbortSignal.timeout(2000),
  });
  const { data } = z.object({ data: z.array(z.unknown()) }).parse(await answer.json());
  return data.length > 0;
}

const lineSchema = z.looseObject({
  msg: z.string(),
  level: z.string(),
  listen: z.object({ port: z.number() }).optional(),
});

function linesOf(output: string): z.infer<typeof lineSchema>[] {
  return output.split('\n').flatMap((line) => {
    try {
      const parsed = lineSchema.safeParse(JSON.parse(line));
      return parsed.success ? [parsed.data] : [];
    } catch {
      return [];
    }
  });
}
