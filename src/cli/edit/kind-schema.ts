import { isDeepStrictEqual } from 'node:util';
import { apiKeySchema } from '../../resources/api-key.ts';
import { type JsonSchema, jsonSchema } from '../../resources/json-schema.ts';
import { masterKeySchema } from '../../resources/master-key.ts';
import { upstreamNodeSchema } from '../../resources/upstream-node.ts';
import type { Kind } from '../../store/store.ts';
import { type FieldKeys, type FieldTree, fieldsOf, fieldValue } from './field-tree.ts';

const schemas = { UpstreamNode: upstreamNodeSchema, APIKey: apiKeySchema, MasterKey: masterKeySchema };
const made = new Map<Kind, JsonSchema>();

/** The JSON schema of a kind, with the defaults that the API server fills in. */
export function kindSchema(kind: Kind): JsonSchema {
  const known = made.get(kind) ?? jsonSchema(schemas[kind]);
  made.set(kind, known);
  return known;
}

/** Whether a field of an object has its default value. */
export function isDefault(kind: Kind, object: unknown, keys: FieldKeys): boolean {
  let schema: JsonSchema | undefined = kindSchema(kind);
  for (const key of keys)
    schema = key.startsWith('f:') ? memberOf(schema?.properties ?? {}, key.slice(2)) : schema?.items;
  return schema?.default !== undefined && isDeepStrictEqual(fieldValue(object, keys), schema.default);
}

/** A spec without defaults, except for those that `stated` contains. Its members are in the order of the schema. */
export function statedSpec(kind: Kind, spec: unknown, stated: FieldTree): unknown {
  const { properties = {} } = kindSchema(kind);
  return statedPart(spec, properties['spec'] ?? {}, stated['f:spec'] ?? {});
}

function statedPart(value: unknown, schema: JsonSchema, stated: FieldTree): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    return value.map((entry: unknown) => {
      const [key = ''] = Object.keys(fieldsOf([entry]));
      return statedPart(entry, schema.items ?? {}, memberOf(stated, key) ?? {});
    });
  }
  const { properties } = schema;
  if (properties === undefined) return value;
  const members = value as Record<string, unknown>;
  const known = Object.keys(properties).filter((name) => Object.hasOwn(members, name));
  const others = Object.keys(members).filter((name) => !Object.hasOwn(properties, name));
  const kept = [...known, ...others].flatMap((name): [string, unknown][] => {
    const member = members[name];
    const below = stated[`f:${name}`];
    const part = statedPart(member, properties[name] ?? {}, below ?? {});
    if (below === undefined) {
      if (isDeepStrictEqual(member, properties[name]?.default)) return [];
      const isEmptied = !isDeepStrictEqual(part, member) && isDeepStrictEqual(part, {});
      if (isEmptied) return [];
    }
    return [[name, part]];
  });
  return Object.fromEntries(kept);
}

function memberOf<T>(members: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}
