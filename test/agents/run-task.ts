import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { Guard } from '../support/guard.ts';
import { readMessagesStream } from '../wire/grammar/messages.ts';
import { readResponsesStream } from '../wire/grammar/responses.ts';
import { type AgentTask, must, mustBe, type Place, prompt } from './agent-task.ts';
import { startChild } from './child.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { startModelServer } from './model-server.ts';
import type { Report } from './report.ts';
import { type Exchange, startTap } from './tap.ts';

/** How long one agent may take; the gateway lives a little longer. */
const agentMs = 80_000;
const gatewayMs = 120_000;
const settingsMs = 30_000;

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** The node's own name of its model. */
export const nodeModel = 'scripted-model';

/** Lets one agent finish its task, in a folder of its own that is gone afterwards, and checks what it did. */
export async function runTask(task: AgentTask, alias: string, report: Report, guard: Guard): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'model-gateway-agent-'));
  guard.watchFolder(root);
  try {
    await runIn(root, task, alias, report, guard);
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    guard.keepFolder(root);
  }
}

async function runIn(
  root: string,
  task: AgentTask,
  alias: string,
  report: Report,
  guard: Guard,
): Promise<void> {
  const step = (name: string, check: () => unknown) => report.step(`${task.name}: ${name}`, check);
  const [work, home] = [join(root, 'work'), join(root, 'home')];
  await mkdir(work);
  await mkdir(home);
  for (const [file, text] of Object.entries(task.files)) await writeFile(join(work, file), text);
  // The model needs the place and the place the gateway, which needs the model's address.
  const values = { port: 0, key: '' };
  const place: Place = { work, home, key: () => values.key };

  const key = `sk-${randomBytes(16).toString('hex')}`;
  await using model = await startModelServer({ model: nodeModel, key, play: task.play(place), task });
  const node = { baseURL: model.baseURL, key, model: nodeModel, alias, card: task.card };
  await using gateway = await startGatewayProcess({
    ...{ folder: root, node, conversion: task.conversion },
    ...{ timeoutMs: gatewayMs, guard },
  });
  await using tap = await startTap(gateway.port);
  Object.assign(values, { port: tap.port, key: gateway.key });

  await step('model-gateway agent writes its settings', () => writeSettings(task, place, tap.port, guard));
  const { args, env } = await task.prepare(place);
  const [command = '', ...first] = task.program;
  const started = performance.now();
  await using agent = startChild({
    command,
    args: [...first, ...args, prompt],
    cwd: work,
    env: { ...environment(home), ...env },
    ...{ timeoutMs: agentMs, guard },
  });
  const code = await agent.exited;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);

  const { exchanges } = tap;
  const asked = exchanges.filter(({ url }) => url.split('?')[0] === `/v1${task.path}`);
  await step(`it ends well, after ${seconds} s and ${asked.length} requests`, () => {
    must(code === 0, `exit code ${code}; its last words:\n${agent.tail()}`);
  });
  await step('the node was asked as chat-completions demand', () => {
    must(model.requests.length > 0, 'it was not asked at all');
    must(model.problems.length === 0, model.problems.join('\n'));
  });
  const done = { place, stdout: agent.stdout(), stderr: agent.tail(), exchanges };
  for (const [name, check] of Object.entries(task.checks)) await step(name, () => check(done));
  await step('every answer names its conversion and what it dropped', () => {
    for (const exchange of asked) checkHeaders(exchange, task);
  });
  await step('every stream is as the vendor would send it', () => checkStreams(asked, task));
  await step(`it asked for nothing that is not there (${endpoints(exchanges)})`, () => {
    for (const { method, url, status } of exchanges)
      must(status < 400 || method === 'HEAD', `${method} ${url} was answered ${status}`);
  });
  await step('the gateway had nothing to complain of but broken streams', () => {
    const complaints = gateway.complaints();
    mustBe(complaints.length, 0, `the number of complaints\n${complaints.join('\n')}\nwhich`);
  });
}

/** Lets the command write the settings, as a person does who has the key in a variable. */
async function writeSettings(
  { agent, model }: AgentTask,
  { home, work, key }: Place,
  port: number,
  guard: Guard,
): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  await using writing = startChild({
    command: process.execPath,
    args: [mainFile, 'agent', agent, '--model', model, '--gateway-url', url, '--write', '--yes'],
    cwd: work,
    env: { ...environment(home), MODEL_GATEWAY_KEY: key() },
    ...{ timeoutMs: settingsMs, guard },
  });
  must((await writing.exited) === 0, writing.tail());
  must(!writing.tail().includes(key()), 'it shows the key');
}

function environment(home: string): Readonly<Record<string, string>> {
  return { HOME: home, PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8' };
}

function checkHeaders({ answered, body }: Exchange, { path, dropped }: AgentTask): void {
  const conversion = path === '/chat/completions' ? undefined : `${path.slice(1)}->chat`;
  mustBe(answered['x-model-gateway-conversion'], conversion, 'x-model-gateway-conversion');
  mustBe(answered['x-model-gateway-node'], 'default/scripted', 'x-model-gateway-node');
  mustBe(answered['x-model-gateway-attempts'], '1', 'x-model-gateway-attempts');
  const request = JSON.parse(body) as unknown;
  const left = answered['x-model-gateway-dropped'];
  if (left === undefined && dropped.length === 0) return;
  for (const field of String(left ?? '').split(', ')) {
    must(dropped.includes(field.replace(/\[\d+\]/g, '[N]')), `unexpectedly dropped: ${field}`);
    const value = valueAt(request, field);
    must(value !== undefined, `dropped, but not in the request: ${field}`);
    // What a caller runs by itself can be carried.
    if (/^tools\[\d+\]$/.test(field)) mustBe((value as { type: string }).type, 'web_search', field);
  }
}

function valueAt(value: unknown, path: string): unknown {
  return path
    .split(/[.[\]]+/)
    .filter((name) => name !== '')
    .reduce((at, name) => (at as Record<string, unknown> | undefined)?.[name], value);
}

function checkStreams(asked: readonly Exchange[], { path, breaks }: AgentTask): void {
  const streams = asked.filter(({ answered }) => answered['content-type']?.startsWith('text/event-stream'));
  must(streams.length > breaks, 'hardly anything was streamed');
  const broken = streams.filter(({ answer }) => {
    if (path === '/chat/completions') return !answer.endsWith('data: [DONE]\n\n');
    if (path === '/messages') return readMessagesStream(answer, { mayBeCut: true }).error !== undefined;
    const { problems, response } = readResponsesStream(answer);
    must(problems.length === 0, problems.join('\n'));
    return response['status'] !== 'completed';
  });
  mustBe(broken.length, breaks, 'the number of broken streams');
}

function endpoints(exchanges: readonly Exchange[]): string {
  const counts = new Map<string, number>();
  for (const { method, url } of exchanges)
    counts.set(`${method} ${url}`, (counts.get(`${method} ${url}`) ?? 0) + 1);
  return [...counts].map(([what, count]) => `${count} × ${what}`).join(', ');
}
