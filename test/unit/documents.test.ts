import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const documents = ['README.md', 'CONTRIBUTING.md', ...globSync('{src,test}/**/*.md')];
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

test('CONTRIBUTING tells of every package that is shipped', () => {
  const text = readFileSync('CONTRIBUTING.md', 'utf8');
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: object };
  expect(Object.keys(dependencies).filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
