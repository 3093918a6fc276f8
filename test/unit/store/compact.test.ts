import { expect, test } from 'vitest';
import { parseStored } from '../../../src/resources/parse.ts';
import type { Resource } from '../../../src/resources/resource.ts';
import { compact } from '../../../src/store/compact.ts';

function key(index: number): Resource {
  const hash = `sha256:${String(index).padStart(64, '0')}`;
  const condition = { type: 'Ready', status: 'True', reason: 'KeyAccepted', message: 'In force.' };
  const conditions = [{ ...condition, lastTransitionTime: '2026-11-21T06:13:17Z', observedGeneration: 1 }];
  const metadata = { name: `key-${index}`, namespace: 'somewhere', uid: `uid-${index}`, labels: { a: 'b' } };
  const document = {
    ...{ apiVersion: 'modelgateway.dev/v1alpha1', kind: 'APIKey', metadata },
    ...{ spec: { hash, displayName: `Key ${index}` }, status: { conditions, hashes: [{ hash }] } },
  };
  const parsed = parseStored(document);
  if (!('resource' in parsed)) throw new Error(JSON.stringify(parsed.problems));
  return parsed.resource;
}

test('says the same as the resource, for any number of them', () => {
  for (let index = 0; index < 20_000; index += 1) {
    const resource = key(index);
    const wanted = JSON.stringify(resource);
    expect(JSON.stringify(compact(resource))).toBe(wanted);
  }
});

test('takes the document itself where it says the same, and never where it says more', () => {
  const said = JSON.stringify(key(1));
  const same = JSON.parse(said);
  expect(compact(key(1), same)).toBe(same);
  const more = JSON.parse(said);
  more.metadata.managedFields = undefined;
  more.spec.unheardOf = ['of'];
  expect(JSON.stringify(compact(key(1), more))).toBe(said);
  for (const [field, value] of [
    ['enabled', false],
    ['enabled', null],
    ['displayName', undefined],
  ] as const) {
    const differs = JSON.parse(said);
    differs.spec[field] = value;
    expect(JSON.stringify(compact(key(1), differs)), field).toBe(said);
  }
});

test('shares what two resources say alike, and nothing that differs', () => {
  const [first, second] = [compact(key(1)), compact(key(2))];
  if (first.kind !== 'APIKey' || second.kind !== 'APIKey') throw new Error('not keys');
  expect(first.status?.conditions?.[0]).toBe(second.status?.conditions?.[0]);
  expect(first.metadata.labels).toBe(second.metadata.labels);
  expect(first.status?.hashes?.[0]).not.toBe(second.status?.hashes?.[0]);
  expect(second.metadata.uid).toBe('uid-2');
});

test('leaves names alone that mean something to JavaScript', () => {
  const resource = compact({
    ...key(1),
    metadata: JSON.parse('{"name":"a","namespace":"b","labels":{"__proto__":"c","constructor":"d"}}'),
  } as Resource);
  expect(JSON.stringify(resource.metadata.labels)).toBe('{"__proto__":"c","constructor":"d"}');
});
