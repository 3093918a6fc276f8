import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import type { Fault } from './fault.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Faults that `npm test` has in a short form, in a test of the cluster with a steady load of its own, here as long as they may be. */
export const longProofs: readonly Fault[] = [
  proof(
    'api-server-away-long',
    'Static stability',
    'the API server away for ten minutes: no request fails, keys expire all the same, and what was changed follows within 45 s of its return',
    'outage.test.ts',
  ),
  proof(
    'api-server-churn-long',
    'Static stability',
    '10,000 keys made and deleted leave controller and gateway as quick and as small as before',
    'faults-churn.test.ts',
  ),
  proof(
    'api-server-clocks-long',
    'Modes',
    'clocks an hour apart for a minute: one controller leads, expiry is judged by each gateway’s own clock',
    'faults-clocks.test.ts',
  ),
];

function proof(id: string, section: string, promise: string, file: string): Fault {
  return {
    ...{ id, group: 'api-server', section, promise, form: 'long', needs: ['control plane'] },
    async run(scene) {
      const args = ['run', '--project=cluster', `test/cluster/${file}`];
      const env = { ...process.env, MODEL_GATEWAY_TEST_LONG: '1' };
      const child = spawn('vitest', args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
      const kill = () => void child.kill();
      process.once('exit', kill);
      scene.onEnd(() => {
        process.off('exit', kill);
        kill();
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (piece: string) => {
          output += piece;
          process.stderr.write(piece);
        });
      }
      const [code] = (await once(child, 'close')) as [number | null];
      const lines = stripVTControlCharacters(output).split('\n');
      scene.same(`the exit code of vitest ${args.join(' ')}`, code, 0);
      for (const line of lines) if (line.startsWith('measured: ')) scene.saw(line.slice('measured: '.length));
    },
  };
}
