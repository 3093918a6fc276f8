import { randomBytes } from 'node:crypto';
import { createLog } from '../../../src/observe/log.ts';
import { openDirectoryStore } from '../../../src/store/folder/directory.ts';
import { hashOf, makeKey, makeSecret } from './make.ts';

// Opens a store. `work`: makes keys and Secrets as fast as it can, until it is killed, and prints the name of each that was
// answered. `die`: ends by SIGKILL when a key changes.
const [, , manifests = '', data = '', round = '', work = ''] = process.argv;
const signal = new AbortController().signal;
try {
  const log = createLog({ level: 'error', format: 'json', role: 'test', destination: { write: () => {} } });
  const now = () => Date.now();
  const store = await openDirectoryStore({
    manifests,
    data,
    homeNamespace: 'default',
    log,
    now,
    randomBytes,
    signal,
  });
  if (work === 'die')
    store.subscribe((change) => {
      // As soon as the change is in force.
      if (change.kind === 'APIKey') process.kill(process.pid, 'SIGKILL');
    });
  process.stdout.write('open\n');
  for (let i = 0; work === 'work'; i += 1) {
    const name = `key-${round}-${i}`;
    const key = await store.createKey(
      makeKey({ hash: hashOf(Number(round) * 100_000 + i) }, { name }),
      signal,
    );
    await store.writeStatus('APIKey', key, { observedGeneration: 1 }, signal);
    await store.createSecret(makeSecret(name, { apiKey: 'x'.repeat(1_000) }), signal);
    process.stdout.write(`${name}\n`);
  }
} catch (error) {
  process.stdout.write(`refused ${error instanceof Error ? error.message : ''}\n`);
  process.exit(1);
}
