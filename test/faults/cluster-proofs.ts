import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import type { Fault } from './fault.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Faults that tests of the cluster play, each with callers of its own. The first three are longer here than in `npm test`; the
 * others are the same there.
 */
export const clusterProofs: readonly Fault[] = [
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
  proof(
    'cluster-namespace-gone',
    'Namespaces',
    'a namespace is deleted while gateways start: they are ready and serve the others, and keys of the lost one get 401',
    'lost-namespace.test.ts',
    'a gateway that starts while a namespace',
  ),
  proof(
    'cluster-rbac-gone',
    'Namespaces',
    'the Role of a namespace is taken away: running gateways drop it after a while and serve the others; if all Roles are gone, nothing is dropped',
    'lost-namespace.test.ts',
    'a running gateway drops a namespace',
  ),
  proof(
    'cluster-undecryptable-secret',
    'Namespaces',
    'a Secret that the API server cannot decrypt: new gateways and controllers serve everything else, and name it',
    'undecryptable.test.ts',
    'one undecryptable Secret',
  ),
  proof(
    'cluster-restore',
    'APIKey',
    'resources and Secrets of a backup in an empty cluster: every key opens again and every sealed credential works',
    'restore.test.ts',
    'brings every key and every sealed credential back',
  ),
  proof(
    'cluster-old-secret',
    'APIKey',
    'an old copy of a key Secret, written into it or made again: the rotated or revoked text stays refused, and another key is issued',
    'retired-keys.test.ts',
    'an old copy of the Secret is replaced',
  ),
  proof(
    'cluster-double-serving',
    'Namespaces',
    'two installations serve one namespace: one acts, the other says who and writes nothing, and takes over when the first is killed',
    'claims.test.ts',
    'of two installations one acts',
  ),
  proof(
    'cluster-future-clock',
    'Modes',
    'a leader whose clock is hours ahead dies: the next one checks and syncs on time, and expiry is judged by each gateway’s own clock',
    'faults-clocks.test.ts',
    'wrong clocks',
  ),
  proof(
    'cluster-version-skew',
    'Modes',
    'an earlier build and today’s serve the same objects, each leading in turn: nothing is written at rest, no field is lost, both gateways answer alike',
    'version-skew.test.ts',
    'an older version',
  ),
];

/** A test file, or those of its tests whose names contain `name`. Only whole files are long. */
function proof(id: string, section: string, promise: string, file: string, name?: string): Fault {
  const form = name === undefined ? 'long' : 'full';
  return {
    ...{ id, group: 'api-server', section, promise, form, callers: 'own', needs: ['control plane'] },
    async run(scene) {
      const only = name === undefined ? [] : ['-t', name];
      const args = ['run', '--project=cluster', `test/cluster/${file}`, ...only];
      const env = { ...process.env, ...(form === 'long' ? { MODEL_GATEWAY_TEST_LONG: '1' } : {}) };
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
      const passed = lines.find((line) => /^ +Tests +\d+ passed/.test(line))?.match(/\d+ passed/)?.[0];
      // A name that fits no test would leave all of them out, and vitest would be content.
      scene.same('tests that ran and passed', passed !== undefined, true);
      scene.saw(`${passed ?? 'no'} in test/cluster/${file}`);
      for (const line of lines) if (line.startsWith('measured: ')) scene.saw(line.slice('measured: '.length));
    },
  };
}
