import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'DEPENDENCIES.md',
  ...globSync('{src,test}/**/*.md'),
];
const sources = globSync('{src,test,scripts}/**/*.{ts,mjs,md}').map((path) => `/${path}`);

test.each(documents)('what %s names is there', (document) => {
  const text = readFileSync(document, 'utf8');
  const beside = (path: string) => join(dirname(document), path);
  // A name alone is in the folder that the text around it tells of.
  const names = [...text.matchAll(/`([\w./-]+\.(?:ts|mjs|md))`/g)].map(([, name = '']) => name);
  const isThere = (name: string) =>
    [name, beside(name), join('src', name)].some(existsSync) ||
    sources.some((path) => path.endsWith(`/${name}`));
  expect(names.filter((name) => !isThere(name))).toEqual([]);
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, path = '']) => path);
  expect(links.filter((path) => !existsSync(beside(path)))).toEqual([]);
});

test('every folder of src is told of', () => {
  const text = readFileSync('src/README.md', 'utf8');
  const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).filter((name) => !text.includes(`\`${name}/\``))).toEqual([]);
});

test('DEPENDENCIES.md has a row for every package, with its version, reason, keeper and size, and no other', () => {
  const text = readFileSync('DEPENDENCIES.md', 'utf8');
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >;
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
  expect(rows(shipped)).toEqual(dependencies);
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
  expect(Object.values(versions).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  expect(manifest['allowScripts']).toEqual({ node: true });
  const launch = readFileSync('scripts/launch.mjs', 'utf8');
  expect(launch).toContain("['ci', '--include=dev', '--ignore-scripts']");
});
