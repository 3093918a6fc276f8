import { expect, test } from 'vitest';
import { type Crd, crds } from '../../../src/resources/crd.ts';
import { fieldReference } from '../../../src/resources/field-reference.ts';
import type { JsonSchema } from '../../../src/resources/json-schema.ts';
import { declaredCrds } from '../../support/declared-crds.ts';

type Place = { readonly path: string; readonly schema: JsonSchema };

function places(path: string, schema: JsonSchema): Place[] {
  const members = Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    places(`${path}.${name}`, member),
  );
  const entries = schema.items === undefined ? [] : places(`${path}[]`, schema.items);
  const values =
    typeof schema.additionalProperties === 'object' ? places(`${path}{}`, schema.additionalProperties) : [];
  return [{ path, schema }, ...members, ...entries, ...values];
}

function everyPlace(crd: Crd): Place[] {
  const { spec = {}, status } = crd.spec.versions[0]?.schema.openAPIV3Schema.properties ?? {};
  return [...places('spec', spec), ...(status === undefined ? [] : places('status', status))];
}

/** Places of all kinds where something is not as it must be. */
function faults(isFault: (place: Place) => boolean): string[] {
  return crds().flatMap((crd) =>
    everyPlace(crd)
      .filter(isFault)
      .map(({ path }) => `${crd.spec.names.kind} ${path}`),
  );
}

test('schemas are structural: nothing that the API server refuses, a type everywhere', () => {
  const refused = ['$ref', '$schema', 'id', 'anyOf', 'oneOf', 'allOf', 'not', 'const', 'propertyNames'];
  expect(faults(({ schema }) => refused.some((key) => key in schema))).toEqual([]);
  expect(faults(({ schema }) => schema.additionalProperties === false)).toEqual([]);
  expect(faults(({ schema }) => schema.type === undefined)).toEqual([]);
});

test('everything is bounded', () => {
  expect(
    faults(
      ({ schema }) => schema.type === 'string' && schema.maxLength === undefined && schema.enum === undefined,
    ),
  ).toEqual([]);
  expect(faults(({ schema }) => schema.type === 'array' && schema.maxItems === undefined)).toEqual([]);
  expect(
    faults(({ schema }) => schema.additionalProperties !== undefined && schema.maxProperties === undefined),
  ).toEqual([]);
  const unboundedNumber = ({ minimum, maximum }: JsonSchema) =>
    minimum === undefined || maximum === undefined;
  expect(faults(({ schema }) => schema.type === 'integer' && unboundedNumber(schema))).toEqual([]);
  expect(faults(({ schema }) => schema.type === 'number')).toEqual([]);
});

test('every field says what it means, every list how it is merged, every rule what it asks', () => {
  expect(faults(({ path, schema }) => !/(\[\]|\{\})$/.test(path) && !schema.description)).toEqual([]);
  expect(faults(({ schema }) => schema.type === 'array' && !schema['x-kubernetes-list-type'])).toEqual([]);
  const rules = ({ schema }: Place) => schema['x-kubernetes-validations'] ?? [];
  expect(faults((place) => rules(place).some(({ message }) => !/^must /.test(message)))).toEqual([]);
});

test('patterns and rules use no syntax that Go lacks', () => {
  const expressions = ({ schema }: Place) => [
    schema.pattern ?? '',
    ...(schema['x-kubernetes-validations'] ?? []).map(({ rule }) => rule),
  ];
  expect(faults((place) => expressions(place).some((text) => /\(\?[=!<]/.test(text)))).toEqual([]);
});

test('the field reference has every field and every rule', () => {
  const text = fieldReference(crds());
  for (const crd of crds()) {
    for (const { path, schema } of everyPlace(crd)) {
      if (path.includes('.') && !/(\[\]|\{\})$/.test(path)) expect(text).toContain(`\`${path}\``);
      for (const { message } of schema['x-kubernetes-validations'] ?? []) expect(text).toContain(message);
    }
  }
});

test('kubectl get -o wide says of every declared kind why an object is not ready', () => {
  for (const { spec } of declaredCrds()) {
    const columns = spec.versions[0]?.additionalPrinterColumns ?? [];
    expect(columns.find(({ name }) => name === 'Message')).toMatchObject({
      priority: 1,
      jsonPath: '.status.conditions[?(@.type=="Ready")].message',
    });
  }
});

test('the reference says what an absent models[].enabled means', () => {
  expect(
    faults(
      ({ path, schema }) =>
        path === 'spec.models[].enabled' &&
        !/said when the model was discovered/.test(String(schema.description)),
    ),
  ).toEqual([]);
});
