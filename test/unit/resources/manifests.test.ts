import { expect, test } from 'vitest';
import { changeProblems } from '../../../src/resources/change.ts';
import { parseResource, parseStored } from '../../../src/resources/parse.ts';
import { problemLine } from '../../../src/resources/problem.ts';
import type { Resource } from '../../../src/resources/resource.ts';
import { badManifests } from '../../crds/bad-manifests.ts';
import { boundCases } from '../../crds/bound-cases.ts';
import { changes } from '../../crds/changes.ts';
import { filesIn, manifest, manifests } from '../../crds/manifests.ts';

// The same manifests go to a real API server in test/crds.

function parsed(document: unknown): Resource {
  const result = parseResource(document);
  if ('problems' in result) throw new Error(result.problems.map(problemLine).join('\n'));
  return result.resource;
}

function lines(document: unknown): string[] {
  const result = parseResource(document);
  return 'problems' in result ? result.problems.map(problemLine) : [];
}

test.each(filesIn('good'))('good/%s is taken', (file) => {
  const resource = parsed(manifest('good', file));
  // What a store wrote it reads again, unchanged.
  expect(parseStored(JSON.parse(JSON.stringify(resource)))).toEqual({ resource });
});

test('every bad manifest is in the table, once', () => {
  expect(badManifests.map(({ file }) => file).toSorted()).toEqual(filesIn('bad').toSorted());
  expect(changes.map(([file]) => file).toSorted()).toEqual(filesIn('changes').toSorted());
});

test.each(badManifests)('bad/$file is refused', ({ file, ours }) => {
  expect(lines(manifest('bad', file))).toEqual([ours]);
});

test('no refusal shows a planted credential', () => {
  const said = filesIn('bad').flatMap((file) => lines(manifest('bad', file)));
  expect(said.length).toBeGreaterThan(90);
  expect(said.filter((line) => /planted|user:pass/.test(line))).toEqual([]);
});

test.each(changes)('changes/%s', (file, server) => {
  const [previous, next] = manifests('changes', file).map(parsed);
  if (previous === undefined || next === undefined) throw new Error('two documents are needed');
  const said = changeProblems(previous, next).map(({ path, reason }) => `${path}: Invalid value: ${reason}`);
  expect(said).toEqual(server);
});

test('every bound holds where it is said to', () => {
  const cases = boundCases();
  expect(cases.length).toBeGreaterThan(100);
  const wrong = cases.filter(({ manifest: document, allowed }) => (lines(document).length === 0) !== allowed);
  expect(wrong.map(({ title, manifest: document }) => [title, ...lines(document)])).toEqual([]);
});
