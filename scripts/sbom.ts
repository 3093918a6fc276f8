// `npm run sbom`: what the product is shipped with, made from the lock file and the installed packages.
//   dist/sbom.cdx.json            CycloneDX, by npm, without what changes from run to run
//   dist/THIRD_PARTY_LICENCES.txt every package with its licence's text
// Fails, naming them, on packages with a licence that nobody has judged. `node scripts/sbom.ts FOLDER` writes there.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { isAllowedLicence } from './licence-rules.ts';

interface Shipped {
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly licence: string | undefined;
}

interface Bom {
  serialNumber?: string;
  metadata: { timestamp?: string; component: { name: string } };
  components: { 'bom-ref': string; name: string; version: string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = process.argv[2] ?? join(root, 'dist');
const packages = shippedPackages();
const refused = packages.filter(({ licence }) => !isAllowedLicence(licence));
if (refused.length > 0) {
  for (const { name, version, licence } of refused) {
    console.error(`sbom: ${name} ${version} has the licence ${licence ?? '(none named)'}`);
  }
  console.error(
    'sbom: judge each of these: take another package, or add the licence to scripts/licence-rules.ts.',
  );
  process.exit(1);
}
const bom = billOfMaterials();
const missing = packages.filter(
  (one) => !bom.components.some(({ name, version }) => name === one.name && version === one.version),
);
if (missing.length > 0) {
  fail(`npm sbom leaves out ${missing.map(({ name }) => name).join(', ')}`, 'look at the lock file');
}
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(bom, null, 2)}\n`);
writeFileSync(join(folder, 'THIRD_PARTY_LICENCES.txt'), licenceTexts());
console.log(`Wrote sbom.cdx.json and THIRD_PARTY_LICENCES.txt (${packages.length} packages) to ${folder}`);

/** Every package of the lock file that is not for development, sorted by where it lies. */
function shippedPackages(): readonly Shipped[] {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string; license?: string; dev?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { version = '', license }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return { path, name, version, licence: license ?? installedLicence(path) };
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function installedLicence(path: string): string | undefined {
  const file = join(root, path, 'package.json');
  if (!existsSync(file)) return undefined;
  const { license } = JSON.parse(readFileSync(file, 'utf8')) as { license?: unknown };
  return typeof license === 'string' ? license : undefined;
}

function billOfMaterials(): Bom {
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--loglevel=error'],
    { cwd: root, encoding: 'utf8', maxBuffer: 64 * 2 ** 20, shell: process.platform === 'win32' },
  );
  if (status !== 0) fail(`npm sbom ended with ${status}: ${stderr.trim()}`, 'npm 10 or newer has it');
  const made = JSON.parse(stdout) as Bom;
  // Not by --omit=dev: npm 11 then leaves out what both kinds of dependencies use, such as undici.
  const shipped = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  made.components = made.components.filter(({ name, version }) => shipped.has(`${name}@${version}`));
  const refs = new Set(made.components.map((component) => component['bom-ref']));
  const [whole] = made.dependencies;
  made.dependencies = made.dependencies
    .filter(({ ref }) => refs.has(ref) || ref === whole?.ref)
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
  // The same lock file gives the same bytes: npm writes the time, a random number and the folder's name.
  delete made.metadata.timestamp;
  delete made.serialNumber;
  made.metadata.component.name = 'model-gateway';
  const digest = createHash('sha256').update(JSON.stringify(made)).digest('hex');
  const uuid = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-a${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
  return { ...made, serialNumber: `urn:uuid:${uuid}` };
}

function licenceTexts(): string {
  const rule = `${'-'.repeat(80)}\n`;
  const parts = packages.map(({ path, name, version, licence }) => {
    const where = join(root, path);
    const files = existsSync(where)
      ? readdirSync(where).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file))
      : [];
    const texts = files.sort().map((file) => readFileSync(join(where, file), 'utf8').trim());
    return `${rule}${name} ${version}: ${licence}\n${rule}\n${texts.map((text) => `${text}\n\n`).join('')}`;
  });
  return `Model Gateway is shipped with these packages, under their own licences.\n\n${parts.join('')}`;
}

function fail(reason: string, remedy: string): never {
  console.error(`sbom: ${reason}; ${remedy}.`);
  process.exit(1);
}
