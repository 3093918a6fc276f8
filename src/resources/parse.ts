import type { z } from 'zod';
import { apiKeySchema } from './api-key.ts';
import { isObject } from './is-object.ts';
import { issueProblem } from './issues.ts';
import { type JsonSchema, jsonSchema } from './json-schema.ts';
import { masterKeySchema } from './master-key.ts';
import { nearest } from './nearest.ts';
import { ignoredMetaFields } from './object-meta.ts';
import type { Problem } from './problem.ts';
import { printable } from './problem.ts';
import type { Resource } from './resource.ts';
import { safeParse } from './safe-parse.ts';
import { secretSchema } from './secret.ts';
import { unknownFields } from './unknown-fields.ts';
import { upstreamNodeSchema } from './upstream-node.ts';

/** The API version of our own kinds. */
export const apiVersion = 'modelgateway.dev/v1alpha1';

type Parsed = { readonly resource: Resource } | { readonly problems: readonly Problem[] };
type Kind = {
  readonly apiVersion: string;
  readonly schema: z.ZodType<Resource>;
  readonly fields: () => JsonSchema;
};

/** Most problems that are reported for one document. */
const maxProblems = 20;

const kinds = new Map<string, Kind>([
  [
    'UpstreamNode',
    { apiVersion, schema: upstreamNodeSchema, fields: once(() => fields(upstreamNodeSchema)) },
  ],
  ['APIKey', { apiVersion, schema: apiKeySchema, fields: once(() => fields(apiKeySchema)) }],
  ['MasterKey', { apiVersion, schema: masterKeySchema, fields: once(() => fields(masterKeySchema)) }],
  ['Secret', { apiVersion: 'v1', schema: secretSchema, fields: once(() => fields(secretSchema)) }],
]);

/**
 * Parses a document of a manifest as strictly as the API server does under `kubectl apply`: unknown fields are refused,
 * nulls count as absent, and `status` is ignored, because the author does not write it. Defaults are filled in.
 * @returns the resource, or up to 20 problems, each safe to show; never throws
 */
export function parseResource(document: unknown): Parsed {
  const kind = kindOf(document);
  if ('problem' in kind) return { problems: [kind.problem] };
  const { status: _, ...authored } = withoutNulls(kind.document);
  const unknown = unknownFields(authored, kind.fields(), maxProblems);
  const parsed = parseAs(kind.schema, authored);
  const problems = 'problems' in parsed ? [...unknown, ...parsed.problems] : unknown;
  return problems.length === 0 ? parsed : { problems: problems.slice(0, maxProblems) };
}

/**
 * Parses an object from the data folder or an API server. Unknown fields are dropped: they belong to a newer version or are
 * not used. `status` is kept.
 * @returns the resource, or up to 20 problems, each safe to show; never throws
 */
export function parseStored(document: unknown): Parsed {
  const kind = kindOf(document);
  if ('problem' in kind) return { problems: [kind.problem] };
  return parseAs(kind.schema, kind.document);
}

/**
 * Whether a document is an object of another API, such as a Deployment in the same file. Such documents are ignored;
 * `parseResource` parses all others and reports their problems.
 */
export function isForeign(document: unknown): document is { readonly kind: string } {
  if (!isObject(document)) return false;
  const { apiVersion: version, kind } = document;
  if (typeof version !== 'string' || typeof kind !== 'string' || version === '' || kind === '') return false;
  if (version.startsWith('modelgateway.dev/')) return false;
  return kind === 'Secret' ? version.includes('/') : !kinds.has(kind);
}

function parseAs(schema: z.ZodType<Resource>, document: unknown): Parsed {
  const parsed = safeParse(schema, document);
  if (parsed.success) return { resource: parsed.data };
  return {
    problems: parsed.error.issues.slice(0, maxProblems).map((issue) => issueProblem(issue, document)),
  };
}

function kindOf(document: unknown): (Kind & { document: Record<string, unknown> }) | { problem: Problem } {
  if (!isObject(document)) {
    const remedy = 'write apiVersion, kind, metadata and spec';
    return { problem: { path: '', reason: 'is not an object', remedy } };
  }
  const name = document['kind'];
  const kind = typeof name === 'string' ? kinds.get(name) : undefined;
  if (kind === undefined) return { problem: unknownKind(name) };
  const version = document['apiVersion'];
  if (version !== kind.apiVersion) {
    const reason = version === undefined ? 'is missing' : 'is not the version of this kind';
    const problem = { path: 'apiVersion', reason, remedy: `write ${kind.apiVersion}` };
    return { problem: withValue(problem, version) };
  }
  return { ...kind, document };
}

function unknownKind(name: unknown): Problem {
  const known = [...kinds.keys()];
  if (name === undefined)
    return { path: 'kind', reason: 'is missing', remedy: `write ${known.join(' or ')}` };
  const meant = typeof name === 'string' ? nearest(name, known) : undefined;
  const remedy = meant === undefined ? `use ${known.join(' or ')}` : `did you mean ${meant}?`;
  return withValue({ path: 'kind', reason: 'is not a kind we know', remedy }, name);
}

function withValue(problem: Problem, value: unknown): Problem {
  const shown = printable([problem.path], value);
  return shown === undefined ? problem : { ...problem, value: shown };
}

function fields(schema: z.ZodType): JsonSchema {
  const object = jsonSchema(schema);
  const metadata = object.properties?.['metadata'];
  const ignored = Object.fromEntries(ignoredMetaFields.map((name): [string, JsonSchema] => [name, {}]));
  if (metadata !== undefined) metadata.properties = { ...metadata.properties, ...ignored };
  return object;
}

// Deeper than any of our fields; bounds the recursion.
const maxDepth = 32;

// The API server treats a null member as absent, but not a null entry of a list.
function withoutNulls(value: Record<string, unknown>, depth = 0): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [name, cleaned(member, depth + 1)]),
  );
}

function cleaned(value: unknown, depth: number): unknown {
  if (depth > maxDepth) return value;
  if (Array.isArray(value)) return value.map((entry) => cleaned(entry, depth + 1));
  return isObject(value) ? withoutNulls(value, depth) : value;
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
