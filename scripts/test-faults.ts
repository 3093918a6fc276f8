// `npm run test:faults`: the faults of a cluster in their long form (about 15 minutes), above all an API server that is
// away for ten minutes under load. `npm test` has them all, shorter.
import { spawn } from 'node:child_process';

const child = spawn('vitest', ['run', '--project=cluster', 'test/cluster/outage', 'test/cluster/faults-'], {
  stdio: 'inherit',
  env: { ...process.env, MODEL_GATEWAY_TEST_LONG: '1' },
});
child.on('error', (error) => {
  console.error(`test:faults: vitest cannot be started: ${error.message}`);
  process.exitCode = 1;
});
child.on('close', (code) => {
  process.exitCode = code ?? 1;
});
