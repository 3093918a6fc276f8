import { z } from 'zod';
import type { FieldOwner } from './declarations.ts';
import {
  type FieldKeys,
  type FieldTree,
  fieldsOf,
  fieldText,
  holdsField,
  leavesOf,
  partOf,
  readTree,
  union,
} from './field-tree.ts';

/** The one field manager of all our interfaces, so that what one of them set another may change. */
export const fieldManager = 'model-gateway';

const entrySchema = z.looseObject({
  manager: z.string().default(''),
  operation: z.string().default(''),
  subresource: z.string().optional(),
  fieldsV1: z.unknown(),
});
type Entry = z.output<typeof entrySchema>;

interface Manager {
  readonly name: string;
  readonly isApply: boolean;
  readonly fields: FieldTree;
}

/** Who owns which fields of an object; see Kubernetes' server-side apply. Statuses are left aside. */
export interface Ownership {
  readonly ours: FieldTree;
  readonly others: readonly Manager[];
}

/** Reads `metadata.managedFields`. What our manager owns by update (a creation that was cut off) counts as ours. */
export function ownershipOf(object: unknown): Ownership {
  const managers = entriesOf(object)
    .filter(({ subresource }) => subresource === undefined || subresource === '')
    .map((entry) => ({
      name: entry.manager,
      isApply: entry.operation === 'Apply',
      fields: readTree(entry.fieldsV1),
    }));
  const isOurs = ({ name, isApply }: Manager) => name === fieldManager && isApply;
  const ours = managers.filter(({ name }) => name === fieldManager).map(({ fields }) => fields);
  return { ours: ours.reduce(union, {}), others: managers.filter((manager) => !isOurs(manager)) };
}

/** The part of an object that our manager owns: labels, annotations and spec alone. */
export function ownPart(object: unknown, { ours }: Ownership): Record<string, unknown> {
  const { 'f:spec': spec, 'f:metadata': metadata = {} } = ours;
  const { 'f:labels': labels, 'f:annotations': annotations } = metadata;
  const kept: FieldTree = {
    ...(labels || annotations
      ? {
          'f:metadata': {
            ...(labels && { 'f:labels': labels }),
            ...(annotations && { 'f:annotations': annotations }),
          },
        }
      : {}),
    ...(spec && { 'f:spec': spec }),
  };
  return Object.keys(kept).length === 0 ? {} : (partOf(object, kept) as Record<string, unknown>);
}

/** A field that somebody else owns. `isSettled`: so by apply, or by a program; false for what people did once. */
export interface Claim {
  readonly keys: FieldKeys;
  readonly manager: string;
  readonly isSettled: boolean;
}

/** Who else owns these fields. */
export function claimsOn(
  fields: Iterable<FieldKeys>,
  { others }: Ownership,
  isDefault: (keys: FieldKeys) => boolean,
): Claim[] {
  return [...fields].flatMap((keys) =>
    others
      .filter((manager) => holdsField(manager.fields, keys))
      .map((manager) => ({
        keys,
        manager: manager.name,
        isSettled: manager.isApply || !(isOneOff(manager.name) || isDefault(keys)),
      })),
  );
}

/**
 * Whoever creates an object by a plain POST owns every default that the server filled in, and whoever ran `kubectl edit`
 * once owns what was typed: to be refused because of these would make `kubectl apply` and our commands enemies. Nobody
 * puts such fields back by himself, and the version guards against the edits of this moment.
 */
function isOneOff(manager: string): boolean {
  return manager.startsWith('kubectl-') || manager === 'before-first-apply' || manager === fieldManager;
}

const maxFieldsTold = 100;

/** Which fields other managers own by apply, for people. */
export function ownersIn({ others }: Ownership): FieldOwner[] {
  return others
    .filter(({ isApply }) => isApply)
    .map(({ name, fields }) => {
      const texts = new Set<string>();
      for (const keys of leavesOf(fields)) {
        if (keys[0] !== 'f:spec') continue;
        if (texts.size >= maxFieldsTold) break;
        texts.add(fieldText(keys));
      }
      return { manager: name, fields: [...texts] };
    })
    .filter(({ fields }) => fields.length > 0);
}

/**
 * The `managedFields` of an object in which our manager owns exactly `applied`, by apply: what a server-side apply would
 * have left, where something else had to be used. Others' entries stay as they are.
 */
export function withOurFields(object: unknown, apiVersion: string, applied: object): unknown[] {
  const others = entriesOf(object).filter(({ manager }) => manager !== fieldManager);
  const entry = { manager: fieldManager, operation: 'Apply', apiVersion, fieldsType: 'FieldsV1' };
  return [...others, { ...entry, fieldsV1: fieldsOf(applied) }];
}

const objectSchema = z.object({ metadata: z.object({ managedFields: z.array(entrySchema).nullish() }) });

function entriesOf(object: unknown): readonly Entry[] {
  return objectSchema.safeParse(object).data?.metadata.managedFields ?? [];
}
