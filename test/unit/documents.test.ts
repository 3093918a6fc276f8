import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { flags } from '../../src/roles/flags.ts';

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'DEPENDENCIES.md',
  'CHANGELOG.md',
  'CODE_OF_CONDUCT.md',
  ...globSync('{docs,src,test,charts,crds,examples}/**/*.md'),
];
const sources = globSync('{src,test,scripts}/**/*.{ts,mjs,md}').map((path) => `/${path}`);

test.each(documents)('what %s names is there', (document) => {
  const text = readFileSync(document, 'utf8');
  const beside = (path: string) => join(dirname(document), path);
  // A name without a folder is in the folder that the text around it names.
  const names = [...text.matchAll(/`([\w./-]+\.(?:ts|mjs|md))`/g)].map(([, name = '']) => name);
  const isThere = (name: string) =>
    [name, beside(name), join('src', name)].some(existsSync) ||
    sources.some((path) => path.endsWith(`/${name}`));
  expect(names.filter((name) => !isThere(name))).toEqual([]);
  const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  const lost = links.filter(([, path = '', heading]) => {
    const target = path === '' ? document : beside(path);
    if (!existsSync(target)) return true;
    return heading !== undefined && !anchorsIn(readFileSync(target, 'utf8')).includes(heading);
  });
  expect(lost.map(([link]) => link)).toEqual([]);
});

/** The anchors that a link may name after `#`: those that GitHub makes of the headings of a Markdown text. */
function anchorsIn(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

const metrics = readFileSync('src/observe/metrics.md', 'utf8');

test.each(documents)('metrics and variables that %s names are there', (document) => {
  const text = readFileSync(document, 'utf8');
  const named = [...text.matchAll(/`(modelgateway_\w+?)(?:_bucket|_sum|_count)?`/g)].map(
    ([, name = '']) => name,
  );
  expect(named.filter((name) => !metrics.includes(name) && !name.endsWith('_'))).toEqual([]);
  // `MODEL_GATEWAY_LOG_LEVEL` is `--log-level`; tests have variables of their own.
  const variables = [...text.matchAll(/\bMODEL_GATEWAY_(?!TEST_)([A-Z_]+[A-Z])\b/g)].map(([, name = '']) =>
    name.toLowerCase().replaceAll('_', '-'),
  );
  // MODEL_GATEWAY_KEY is the caller's own: commands and agents read it, and no flag has it.
  expect(variables.filter((name) => name !== 'key' && !Object.hasOwn(flags, name))).toEqual([]);
});

test('src/README.md names every folder of src', () => {
  const text = readFileSync('src/README.md', 'utf8');
  const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).filter((name) => !text.includes(`\`${name}/\``))).toEqual([]);
});

test('DEPENDENCIES.md has a row for every package, with its version, reason, keeper and size, and no other', () => {
  const text = readFileSync('DEPENDENCIES.md', 'utf8');
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  ) as Record<'dependencies' | 'optionalDependencies' | 'devDependencies', Record<string, string>>;
  const [, shipped = '', others = ''] = text.split(/^## .*$/m);
  const rows = (part: string) =>
    Object.fromEntries(
      [...part.matchAll(/^\| `(.+?)` \| (.+?) \| (.*) \|$/gm)].map(([, name, version, rest = '']) => {
        const cells = rest.split(' | ');
        expect(
          cells.filter((cell) => cell.trim() === ''),
          name,
        ).toEqual([]);
        expect(rest, name).toMatch(/\| [\d.]+ [KM]B/);
        return [name, version];
      }),
    );
  expect(rows(shipped)).toEqual({ ...dependencies, ...optionalDependencies });
  expect(rows(others)).toEqual(devDependencies);
});

test('no package but `node` has a script that runs at installation, and no version is a range', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { hasInstallScript?: boolean; integrity?: string; resolved?: string }>;
  };
  const scripted = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript === true);
  expect(scripted.map(([path]) => path)).toEqual(['node_modules/node']);
  const unhashed = Object.entries(packages).filter(([path, { integrity }]) => path !== '' && !integrity);
  expect(unhashed.map(([path]) => path)).toEqual([]);
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>;
  const versions = { ...manifest['dependencies'], ...manifest['devDependencies'] };
  expect(
    Object.values(versions).filter((version) => !/^(?:npm:[@/\w-]+@)?\d+\.\d+\.\d+$/.test(version)),
  ).toEqual([]);
  expect(manifest['allowScripts']).toEqual({ node: true });
  const launch = readFileSync('scripts/launch.mjs', 'utf8');
  expect(launch).toContain("['ci', '--include=dev', '--ignore-scripts']");
});

const install = readFileSync('docs/install.md', 'utf8');

test('what the page of the installation says that an example declares is all that it declares', () => {
  const applied = [...install.matchAll(/^kubectl apply -f (examples\/\S+) +# (.+)$/gm)];
  expect(applied.map(([, file]) => file)).toEqual(['examples/openai.yaml', 'examples/key.yaml']);
  for (const [, file = '', says = ''] of applied) {
    const kinds = [...readFileSync(file, 'utf8').matchAll(/^kind: (\w+)$/gm)].map(([, kind = '']) => kind);
    expect([file, kinds.includes('UpstreamNode')]).toEqual([file, /^a node\b/.test(says)]);
    expect([file, kinds.includes('APIKey')]).toEqual([file, /^a key\b/.test(says)]);
  }
  const secret = /generated into the Secret (\S+)$/m.exec(install)?.[1];
  expect(readFileSync('examples/key.yaml', 'utf8')).toContain(`secretName: ${secret}\n`);
  expect(install).toContain(`kubectl get secret ${secret} `);
});

test('the page of the installation shows first what a checkout makes, under the names that it makes', () => {
  const { name, version } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, string>;
  expect(install).toMatch(/^\| where \| from a checkout \| from the first release on \|$/m);
  expect(install).toContain(`npm install --global ./${name}-${version}.tgz`);
  expect(install).toContain(`npm run image\` makes \`${name}:${version}\``);
  expect(install).toContain(`  ${name}:${version} standalone --manifests`);
});

test('the page of operations is right about what standalone mode logs of requests by default', () => {
  expect(flags['access-log'].preset).toMatchObject({ cluster: 'all', local: 'failed' });
  expect(readFileSync('docs/operations.md', 'utf8')).toContain(
    '`--access-log` selects which; the default is all in a cluster, and failed requests otherwise',
  );
});

test('the README fits on a screen and a half, and its quick start is two commands', () => {
  const readme = readFileSync('README.md', 'utf8');
  expect(readme.split('\n').length).toBeLessThanOrEqual(80);
  const block = /## Quick start\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  expect([...block.matchAll(/^npm \S+/gm)].map(([command]) => command)).toEqual(['npm start', 'npm test']);
});

test('every figure of the README that links to a page of measurements is on that page', () => {
  const readme = readFileSync('README.md', 'utf8');
  const linked = [...readme.matchAll(/\[([^\]]*\d[^\]]*)\]\((test\/[^)#]+)#[^)]+\)/g)];
  expect(linked).toHaveLength(6);
  for (const [, text = '', page = ''] of linked) {
    const measured = readFileSync(page, 'utf8');
    const figures = [...text.matchAll(/[\d.,]*\d/g)].map(([figure]) => figure.replace(',', ''));
    expect([text, figures.filter((figure) => !measured.includes(figure))]).toEqual([text, []]);
  }
});
