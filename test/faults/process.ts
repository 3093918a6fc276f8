import { setTimeout as delay } from 'node:timers/promises';
import { chatText } from './ask.ts';
import type { Fault } from './fault.ts';
import type { Served } from './served.ts';

/** Makes a key through `/v1/keys`; undefined where it was not answered with 201. */
export async function makeKey(served: Served): Promise<string | undefined> {
  const { status, text } = await served.ask({ key: served.master, path: '/keys', body: {} });
  return status === 201 ? (JSON.parse(text) as { value: string }).value : undefined;
}

/** How many of these keys open. */
export async function opening(served: Served, keys: readonly string[]): Promise<number> {
  const answers = await Promise.all(keys.map((key) => served.ask({ key, path: '/models' })));
  return answers.filter(({ status }) => status === 200).length;
}

export const processFaults: readonly Fault[] = [
  {
    id: 'process-kill-9',
    group: 'process',
    section: 'Standalone mode',
    promise:
      'a killed process takes its open requests with it and nothing else: every key it answered opens in the next one',
    harm: 'while down',
    form: 'short',
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
    form: 'short',
    async run(scene) {
      const served = await scene.own();
      const { chat } = await served.declare([{ upstream: { chunks: 20, chunkDelayMilliseconds: 50 } }]);
      const stream = chat(true);
      await delay(200);
      served.process.signal('SIGSTOP');
      await delay(1500);
      served.process.signal('SIGCONT');
      await scene.recovers(
        'honest callers are served',
        async () => (await served.ask({ path: '/models' })).status === 200,
      );
      const { text } = await stream;
      scene.must('a stream from before is complete', chatText(text, true)?.endsWith('w19 ') === true);
      scene.saw('frozen for 1.5 s in the middle of a stream, which is complete');
    },
  },
];
