import { expect, test } from 'vitest';
import { cutManagedFields } from '../../../src/kube/cut-managed-fields.ts';

const fieldsV1 = { 'f:spec': { '.': {}, 'k:{"type":"}],"}': { 'f:a]': {} } } };
const managedFields = [
  { apiVersion: 'example.dev/v1', fieldsType: 'FieldsV1', fieldsV1, manager: 'a', operation: 'Apply' },
  { fieldsV1, manager: '}],"name":"b"' },
];
const rest = { name: 'a', namespace: 'b', resourceVersion: '3' };
/** An event as the API server writes it: members sorted by name, except for the event's own. */
const event = (metadata: object, more: object = {}) =>
  JSON.stringify({
    type: 'ADDED',
    object: { apiVersion: 'example.dev/v1', kind: 'Thing', metadata, ...more },
  });

test.each([
  ['between generation and name', { generation: 1, managedFields, ...rest }, { generation: 1, ...rest }],
  [
    'after texts that look like them',
    { annotations: { a: ',"managedFields":[{}],"name":"c"' }, managedFields, ...rest },
    { annotations: { a: ',"managedFields":[{}],"name":"c"' }, ...rest },
  ],
])('cuts them out %s', (_, metadata, left) => {
  const more = { spec: { name: '}],"name":"d"' }, status: { a: [{}], name: 'e' } };
  expect(JSON.parse(cutManagedFields(event(metadata, more)) ?? '')).toEqual(JSON.parse(event(left, more)));
});

test.each([
  ['there are none', event(rest)],
  ['they are empty', event({ generation: 1, managedFields: [], ...rest })],
  ['they come last', event({ ...rest, managedFields })],
  ['they are another field', event(rest, { spec: { a: 1, managedFields: [{}], name: 'a' } })],
  ['there is no metadata', '{"a":1,"managedFields":[{}],"name":"a"}'],
])('leaves the text alone where %s', (_, json) => {
  expect(cutManagedFields(json)).toBeUndefined();
});

test('leaves no JSON where they hold what they never hold, a list', () => {
  const json = event({ generation: 1, managedFields: [{ a: [{}], name: 'x' }], ...rest });
  expect(() => JSON.parse(cutManagedFields(json) ?? '{}')).toThrow();
});
