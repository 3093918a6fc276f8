import type { JsonSchema } from '../../src/resources/json-schema.ts';
import { declaredCrds } from '../support/declared-crds.ts';
import type { Manifest } from './manifests.ts';

/** A manifest where one field stands at its bound, or one step beyond it. */
export type BoundCase = { readonly title: string; readonly allowed: boolean; readonly manifest: Manifest };

type Part = string | number;
type Value = { readonly value: unknown; readonly allowed: boolean; readonly says: string };

// What a field's text must begin and end with, where any letters would not do.
const frames: Readonly<Record<string, readonly [before: string, after: string]>> = {
  baseURL: ['https://a/', ''],
  encryptedAPIKey: ['-----BEGIN AGE ENCRYPTED FILE-----', ''],
  caBundle: ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----'],
};

/** Every bound of every field of `spec`, from the CRDs: the last value that is allowed, and the first that is not. */
export function boundCases(): BoundCase[] {
  return declaredCrds().flatMap(({ spec: { names, versions } }) => {
    const schema = versions[0]?.schema.openAPIV3Schema.properties?.['spec'] ?? {};
    return fields(schema, []).flatMap(({ path, schema: field }) =>
      values(field, String(path.findLast((part) => typeof part === 'string'))).map(
        ({ value, allowed, says }) => ({
          title: `${names.kind} spec.${path.join('.')} ${says}`,
          allowed,
          manifest: {
            apiVersion: 'modelgateway.dev/v1alpha1',
            kind: names.kind,
            metadata: { name: 'bound' },
            spec: build(names.kind, path, value),
          },
        }),
      ),
    );
  });
}

function fields(schema: JsonSchema, path: readonly Part[]): { path: readonly Part[]; schema: JsonSchema }[] {
  const members = Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    fields(member, [...path, name]),
  );
  const entries = schema.items === undefined ? [] : fields(schema.items, [...path, 0]);
  const mapped =
    typeof schema.additionalProperties === 'object'
      ? fields(schema.additionalProperties, [...path, 'k0'])
      : [];
  return [{ path, schema }, ...members, ...entries, ...mapped];
}

function values(schema: JsonSchema, name: string): Value[] {
  const { maximum, minimum, maxLength, minLength = 0, maxItems, minItems = 0, maxProperties } = schema;
  const found: Value[] = [];
  const add = (value: unknown, allowed: boolean, says: string) => found.push({ value, allowed, says });
  if (minimum !== undefined) {
    add(minimum, true, `= ${minimum}`);
    add(minimum - 1, false, `= ${minimum - 1}`);
  }
  if (maximum !== undefined) {
    add(maximum, true, `= ${maximum}`);
    add(maximum + 1, false, `= ${maximum + 1}`);
  }
  // A hash and a time have one length; the tables of bad manifests cover them.
  if (maxLength !== undefined && name !== 'hash' && schema.format !== 'date-time') {
    add(textOf(name, maxLength), true, `of ${maxLength} characters`);
    add(textOf(name, maxLength + 1), false, `of ${maxLength + 1} characters`);
    if (minLength > 0) add('', false, 'empty');
  }
  if (maxItems !== undefined && schema.items !== undefined && schema.items.enum === undefined) {
    add(entriesOf(schema.items, maxItems), true, `of ${maxItems} entries`);
    add(entriesOf(schema.items, maxItems + 1), false, `of ${maxItems + 1} entries`);
    if (minItems > 0) add([], false, 'without entries');
  }
  if (maxProperties !== undefined) {
    add(membersOf(maxProperties), true, `of ${maxProperties} members`);
    add(membersOf(maxProperties + 1), false, `of ${maxProperties + 1} members`);
  }
  return found;
}

function textOf(name: string, length: number): string {
  const [before, after] = frames[name] ?? ['', ''];
  // Text for people is counted in characters, whatever they take in memory. A price is a number.
  const filler = name === 'displayName' ? '🏢' : name.endsWith('PerMillion') ? '1' : 'a';
  return before + filler.repeat(length - before.length - after.length) + after;
}

function entriesOf(schema: JsonSchema, count: number): unknown[] {
  const names = Array.from({ length: count }, (_, index) => `n${index}`);
  if (schema.type === 'string') return names;
  const header = schema.properties?.['value'] !== undefined;
  return names.map((name) => (header ? { name, value: 'v' } : { name }));
}

function membersOf(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
}

/** A valid spec that holds the value at the path, with whatever the rules ask beside it. */
function build(kind: string, path: readonly Part[], value: unknown): Record<string, unknown> {
  const spec: Record<string, unknown> = kind === 'UpstreamNode' ? { baseURL: 'https://a/v1' } : {};
  place(spec, path, value);
  if (kind !== 'UpstreamNode') {
    const source = path[0] === 'hint' ? { hash: `sha256:${'0'.repeat(64)}` } : { secretName: 'a' };
    return { ...source, ...beside(spec, 'rotation', { revision: 1 }) };
  }
  const callers =
    path[0] === 'callerNamespaces'
      ? { callerNamespaces: { ...object(spec['callerNamespaces']), from: 'Names' } }
      : {};
  const concurrency = path[0] === 'concurrency' ? beside(spec, 'concurrency', { maxRequests: 1 }) : {};
  return {
    ...beside(spec, 'apiKeySecretRef', { name: 'a' }),
    ...concurrency,
    ...callers,
    ...entries(spec, path),
  };
}

function entries(spec: Record<string, unknown>, path: readonly Part[]): Record<string, unknown> {
  const [list, index, member] = path;
  if (index !== 0 || (list !== 'models' && list !== 'headers')) return {};
  const [entry] = spec[list] as Record<string, unknown>[];
  const partner = list === 'headers' && member === 'name' ? { value: 'v' } : {};
  const secretRef = object(entry)['secretRef'];
  const whole = secretRef === undefined ? {} : { secretRef: { name: 'a', key: 'b', ...object(secretRef) } };
  return { [list]: [{ name: 'n', ...partner, ...entry, ...whole }] };
}

function beside(spec: Record<string, unknown>, name: string, members: object): Record<string, unknown> {
  return spec[name] === undefined ? spec : { ...spec, [name]: { ...members, ...object(spec[name]) } };
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function place(target: Record<string, unknown>, path: readonly Part[], value: unknown): void {
  const [name, ...rest] = path;
  if (name === undefined) return;
  if (rest.length === 0) {
    target[name] = value;
    return;
  }
  const next: Record<string, unknown> =
    typeof rest[0] === 'number' ? ([] as unknown as Record<string, unknown>) : {};
  target[name] = next;
  place(next, rest, value);
}
