import { afterEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { startUpstream } from '../support/upstream.ts';

const key = keyWithHash();
const cleanup: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const step of cleanup.splice(0).reverse()) await step();
});

async function start(): Promise<Standalone> {
  const upstream = await startUpstream({ models: ['m'], chunks: 20, chunkDelayMilliseconds: 100 });
  cleanup.push(() => upstream.stop());
  const program = await startStandalone({
    manifests: {
      'all.yaml': manifests(
        manifest('UpstreamNode', 'n', { baseURL: upstream.url, manualModels: ['m'] }),
        manifest('APIKey', 'k', { hash: key.hash }),
      ),
    },
    flags: ['--access-log', 'all'],
  });
  cleanup.push(() => program[Symbol.asyncDispose]());
  return program;
}

const post = (program: Standalone, body: object) =>
  fetch(`${program.baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [], ...body }),
  });

/** Requests whose lines are 800 bytes long, 25 at a time. */
async function fill(program: Standalone, rounds: number): Promise<void> {
  const model = 'x'.repeat(400);
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(Array.from({ length: 25 }, async () => (await post(program, { model })).text()));
  }
}

async function droppedOf(program: Standalone): Promise<number> {
  const metrics = await (await fetch(`${program.admin}/metrics`)).text();
  return Number(metrics.match(/^modelgateway_log_lines_dropped_total (\d+)$/m)?.[1]);
}

test('a reader of the log that stands still stops no request; what is left out is counted and said', async () => {
  const program = await start();
  expect(await droppedOf(program)).toBe(0);
  const stream = await post(program, { model: 'm', stream: true });
  program.stallOutput(true);
  const [text] = await Promise.all([stream.text(), fill(program, 100)]);
  expect(text).toMatch(/data: \[DONE\]\s*$/);
  const dropped = await droppedOf(program);
  expect(dropped).toBeGreaterThan(0);

  program.stallOutput(false);
  const notice = () => program.log().find(({ msg }) => msg.startsWith('Lines were left out of the log'));
  await eventually('it is said', () => notice() !== undefined, 20_000, 20);
  expect(notice()).toMatchObject({ level: 'warn', lines: dropped });
  const answered = program.log().filter(({ msg }) => msg === 'Answered a request').length;
  await (await post(program, { model: 'm' })).text();
  await eventually('lines go on', () => program.log().some(({ status }) => status === 200), 20_000, 20);
  expect(answered + dropped).toBe(2_501);
  // Each line is there whole.
  for (const line of program.stdout().split('\n')) JSON.parse(line);
});

test('a reader of the log that stands still does not keep the process from ending', async () => {
  const program = await start();
  program.stallOutput(true);
  await fill(program, 32);
  program.signal('SIGTERM');
  expect(await program.ended).toBe(0);
});
