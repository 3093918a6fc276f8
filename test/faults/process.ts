import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runProduct } from '../support/run-product.ts';
import { manifest, manifests } from '../support/standalone.ts';
import { chatText } from './ask.ts';
import { openMany } from './connections.ts';
import type { Fault } from './fault.ts';
import { madeKey, makeKey, opening } from './made-keys.ts';

const standaloneSection = 'Standalone mode';

/** `count` keys that nobody has, 500 to a file. */
function manyKeys(count: number): string[] {
  return Array.from({ length: Math.ceil(count / 500) }, (_, file) =>
    manifests(
      ...Array.from({ length: 500 }, (__, index) =>
        manifest('APIKey', `many-${file}-${index}`, { hash: `sha256:${randomBytes(32).toString('hex')}` }),
      ),
    ),
  );
}

export const processFaults: readonly Fault[] = [
  {
    id: 'process-kill-9',
    group: 'process',
    section: standaloneSection,
    promise:
      'a killed process takes its open requests with it and nothing else: every key it answered opens in the next one',
    harm: 'while down',
    async run(scene) {
      const served = await scene.own();
      const answered: string[] = [];
      const writers = Array.from({ length: 4 }, async () => {
        for (let key: string | undefined = ''; key !== undefined; ) {
          key = await makeKey(served);
          if (key !== undefined) answered.push(key);
        }
      });
      await delay(300);
      served.process.signal('SIGKILL');
      await Promise.all(writers);
      await scene.recovers('the next process serves', async () => {
        await served.process.stop('SIGKILL');
        await served.restart();
        return true;
      });
      scene.same('answered keys that open', await opening(served, answered), answered.length);
      scene.saw(`${answered.length} keys answered before the kill all open`);
    },
  },
  {
    id: 'process-frozen',
    group: 'process',
    section: 'Requests',
    promise:
      'a process that stands still for a while (SIGSTOP) goes on where it was: callers wait, no request fails',
    async run(scene) {
      const served = await scene.own();
      const { chat } = await served.declare([{ upstream: { chunks: 20, chunkDelayMilliseconds: 50 } }]);
      const stream = chat(true);
      await delay(200);
      served.process.signal('SIGSTOP');
      await delay(1500);
      served.process.signal('SIGCONT');
      await scene.recovers(
        'callers are served',
        async () => (await served.ask({ path: '/models' })).status === 200,
      );
      const { text } = await stream;
      scene.must('a stream from before is complete', chatText(text, true)?.endsWith('w19 ') === true);
      scene.saw('frozen for 1.5 s in the middle of a stream, which is complete');
    },
  },
  {
    id: 'process-drained',
    group: 'process',
    section: 'Stopping',
    promise: 'at SIGTERM what is in flight is finished, /readyz says 503 at once, and the exit code is 0',
    harm: 'while down',
    async run(scene) {
      const served = await scene.own();
      const { chat, upstreams } = await served.declare([
        { upstream: { chunks: 20, chunkDelayMilliseconds: 50 } },
      ]);
      const streams = Array.from({ length: 10 }, () => chat(true));
      await upstreams[0]?.waitFor((requests) => requests.length === 10);
      const { admin } = served.process;
      const exit = served.process.stop('SIGTERM');
      await delay(100);
      const ready = await fetch(`${admin}/readyz`).then(
        ({ status }) => status,
        () => 0,
      );
      const whole = (await Promise.all(streams)).filter(({ text }) => chatText(text, true)?.endsWith('w19 '));
      scene.same('streams that are whole', whole.length, 10);
      scene.same('/readyz', ready, 503);
      scene.same('exit code', await exit, 0);
      await scene.recovers('the next process serves', async () => {
        await served.restart();
        return true;
      });
      scene.saw('10 of 10 streams whole, exit code 0');
    },
  },
  {
    id: 'process-second-signal',
    group: 'process',
    section: 'Stopping',
    promise: 'a second signal ends the process at once, whatever is in flight',
    harm: 'while down',
    async run(scene) {
      const served = await scene.own();
      const { chat, upstreams } = await served.declare([{ behaviour: { kind: 'hang' } }]);
      const hanging = chat();
      await upstreams[0]?.waitFor((requests) => requests.length === 1);
      served.process.signal('SIGTERM');
      await delay(300);
      const began = performance.now();
      const code = await served.process.stop('SIGTERM');
      const took = performance.now() - began;
      scene.same('exit code', code, 143);
      scene.must(`ended after ${Math.round(took)} ms, not 10 s`, took < 10_000);
      await hanging;
      await served.restart();
      scene.saw(`exit code 143 ${Math.round(took)} ms after the second signal`);
    },
  },
  {
    id: 'process-second-one',
    group: 'process',
    section: standaloneSection,
    promise: 'a second process on the same data folder is refused, says so, and harms nothing',
    async run(scene) {
      const served = await scene.own();
      const { manifests: folder, data } = served.folders;
      const flags = [
        '--manifests',
        folder,
        '--data',
        data,
        '--listen',
        '127.0.0.1:0',
        '--admin-listen',
        '127.0.0.1:0',
      ];
      const { code, stdout, stderr } = await runProduct(['standalone', ...flags, '--no-console']);
      scene.must(`exit code ${code}, not 0`, code > 0);
      scene.must('it names the folder and the other process', `${stdout}${stderr}`.includes(data));
      scene.saw(`exit code ${code}`);
    },
  },
  {
    id: 'process-address-taken',
    group: 'process',
    section: standaloneSection,
    promise:
      'a process whose address is taken ends with a message that names it, and gives its data folder free',
    async run(scene) {
      const served = await scene.own();
      const { root, manifests: folder } = served.folders;
      const listen = `127.0.0.1:${served.process.port}`;
      const flags = [
        '--manifests',
        folder,
        '--data',
        `${root}/other`,
        '--listen',
        listen,
        '--admin-listen',
        '127.0.0.1:0',
      ];
      const { code, stdout, stderr } = await runProduct(['standalone', ...flags, '--no-console']);
      scene.must(`exit code ${code}, not 0`, code > 0);
      scene.must('it names the address', `${stdout}${stderr}`.includes(listen));
      scene.saw(
        `exit code ${code}: ${/Cannot listen[^"]*/.exec(`${stdout}${stderr}`)?.[0] ?? 'says nothing'}`,
      );
    },
  },
  {
    id: 'process-clock-jumps',
    group: 'process',
    section: 'API keys',
    promise:
      'when the clock jumps, expiry follows it at once, both ways; streams, timeouts and other keys know nothing of it',
    async run(scene) {
      const clock = join(tmpdir(), `model-gateway-clock-${randomBytes(8).toString('hex')}`);
      scene.onEnd(() => rm(clock, { force: true }));
      const preload = new URL('./clock-jump.ts', import.meta.url).href;
      const served = await scene.own({
        env: { NODE_OPTIONS: `--import=${preload}`, TEST_CLOCK_FILE: clock },
      });
      const inAnHour = Math.floor(Date.now() / 1000) + 3_600;
      const body = { expires_at: inAnHour };
      const { text } = await served.ask({ key: served.master, path: '/keys', body });
      const { value } = JSON.parse(text) as { value: string };
      const opens = async () => (await served.ask({ key: value, path: '/models' })).status;
      scene.same('before', await opens(), 200);
      const { chat } = await served.declare([{ upstream: { chunks: 20, chunkDelayMilliseconds: 50 } }]);
      const stream = chat(true);
      for (const [seconds, status] of [
        [86_400, 401],
        [-86_400, 200],
        [0, 200],
      ] as const) {
        await writeFile(clock, String(seconds));
        served.process.signal('SIGUSR2');
        await scene.recovers(`${seconds} s away: ${status}`, async () => (await opens()) === status, 5_000);
      }
      scene.must(
        'a stream that saw all of it is whole',
        chatText((await stream).text, true)?.endsWith('w19 ') === true,
      );
      scene.saw('a day ahead 401, a day behind 200, back 200');
    },
  },
  {
    id: 'process-descriptors',
    group: 'process',
    section: 'Requests',
    promise: 'a process that has run out of file descriptors serves again once they are free, without a hand',
    harm: 'while down',
    form: 'short',
    needs: ['linux'],
    async run(scene) {
      const served = await scene.own({ run: { under: ['prlimit', '--nofile=100:100'] } });
      const sockets = await openMany(served, 200);
      await delay(1_000);
      served.process.alive();
      for (const socket of sockets) socket.destroy();
      await scene.recovers(
        'callers are served',
        async () => (await served.ask({ path: '/models' })).status === 200,
      );
      scene.saw(`${sockets.length} connections against 100 descriptors; the process lives on`);
    },
  },
  {
    id: 'process-out-of-memory',
    group: 'process',
    section: standaloneSection,
    promise:
      'a process that dies of too little memory loses nothing it answered, and serves with more memory or less to hold',
    harm: 'while down',
    needs: ['linux'],
    async run(scene) {
      const served = await scene.own({ env: { NODE_OPTIONS: '--max-old-space-size=48' } });
      const keys = [await madeKey(served), await madeKey(served)];
      const files = manyKeys(100_000);
      for (const [index, text] of files.entries()) await served.folders.write(`many-${index}.yaml`, text);
      const code = await Promise.race([served.process.exited, delay(90_000, 'alive' as const)]);
      scene.must(`it ran out of memory: ${code}`, code !== 'alive');
      for (const index of files.keys()) await served.folders.remove(`many-${index}.yaml`);
      await scene.recovers('the next process serves', async () => {
        await served.process.stop('SIGKILL');
        await served.restart();
        return true;
      });
      scene.same('answered keys that open', await opening(served, keys), 2);
      scene.saw(
        '100,000 keys in 48 MB of heap: ended by V8; both keys answered before open in the next process',
      );
    },
  },
  {
    id: 'process-log-reader-gone',
    group: 'process',
    section: 'Requests',
    promise: 'the end of whoever reads the log harms no request',
    needs: ['linux'],
    async run(scene) {
      const take = `while IFS= read -r line; do printf '%s\\n' "$line"; case $line in *'"Serving"'*) exit;; esac; done`;
      const untilServing = ['bash', '-c', `exec "$@" > >(${take})`, 'bash'];
      const served = await scene.own({ run: { under: untilServing }, flags: ['--access-log', 'all'] });
      for (let round = 0; round < 20; round += 1) {
        const { status, broken } = await served.ask({ path: '/models' });
        scene.same('a request', broken ?? status, 200);
      }
      scene.saw('20 requests answered whose log lines nobody took');
    },
  },
];
