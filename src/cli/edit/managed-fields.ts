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

/** The field manager of all our interfaces, so that each may change what another one set. */
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

/** Who owns which fields of an object; see Kubernetes' server-side apply. The status does not count. */
export interface Ownership {
  readonly ours: FieldTree;
  readonly others: readonly Manager[];
}

/** Reads `metadata.managedFields`. What our manager owns by update (after an interrupted creation) counts as ours. */
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

/** The part of labels, annotations and spec that our manager owns. */
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

/** A field that another manager owns. `isSettled`: by apply, or as a program; false for a single edit by a person. */
export interface Claim {
  readonly keys: FieldKeys;
  readonly manager: string;
  readonly isSettled: boolean;
}

/** The claims of other managers on these fields. */
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
 * Whether a manager made single edits. A client that creates an object by a plain POST owns every default that the server
 * added, and `kubectl edit` owns what was typed once. If such fields refused our edits, `kubectl apply` and our commands
 * could not be used together. No tool restores them, and the version protects edits of the same moment.
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
 * The `managedFields` in which our manager owns exactly `applied`, by apply, as a server-side apply would have left them.
 * It is for writes of another kind. The entries of other managers stay as they are.
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
