// `npm run install-yaml`: dist/install.yaml and dist/crds.yaml, for people without Helm and for kustomize. They are the
// chart with its default values. `--out DIR` writes elsewhere; arguments after `--` go to `helm template`, such as
// `-- --set image.digest=sha256:…`.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { helmBinary } from '../test/support/helm-binary.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const {
  values: { out },
  positionals,
} = parseArgs({
  options: { out: { type: 'string', default: join(root, 'dist') } },
  allowPositionals: true,
});
const name = 'model-gateway';

const helm = spawnSync(
  await helmBinary(),
  [
    ...['template', name, join(root, 'charts', name), '--namespace', name, '--no-hooks'],
    ...['--set', 'tests.enabled=false', '--set', 'crds.keep=false'],
    ...positionals,
  ],
  { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
);
if (helm.status !== 0) {
  console.error(`install-yaml: helm template failed: ${helm.error?.message ?? helm.stderr}`);
  process.exit(1);
}

const namespace = `apiVersion: v1
kind: Namespace
metadata:
  name: ${name}
  labels:
    pod-security.kubernetes.io/enforce: restricted
`;
// No Helm will manage these objects: its marks would only mislead.
const objects = helm.stdout.replaceAll(/^ +(app\.kubernetes\.io\/managed-by|helm\.sh\/chart): .*\n/gm, '');
const banner = `# Model Gateway, made by \`npm run install-yaml\` from charts/model-gateway. kubectl apply --server-side -f install.yaml\n`;
const crds = readdirSync(join(root, 'crds'))
  .filter((file) => file.endsWith('.yaml'))
  .sort()
  .map((file) => readFileSync(join(root, 'crds', file), 'utf8'));

mkdirSync(out, { recursive: true });
for (const [file, text] of [
  ['install.yaml', `${banner}${namespace}${objects}`],
  ['crds.yaml', crds.join('---\n')],
] as const) {
  writeFileSync(join(out, file), text);
  console.log(`Wrote ${join(out, file)}: ${text.split('\n').length} lines`);
}
