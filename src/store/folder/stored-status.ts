import type { z } from 'zod';
import { apiKeySchema } from '../../resources/api-key.ts';
import type { Condition } from '../../resources/conditions.ts';
import { masterKeySchema } from '../../resources/master-key.ts';
import { safeParse } from '../../resources/safe-parse.ts';
import { type StatusModel, upstreamNodeSchema } from '../../resources/upstream-node.ts';
import type { Kind, ResourceOf } from '../store.ts';

const schemas = {
  UpstreamNode: upstreamNodeSchema.shape.status,
  APIKey: apiKeySchema.shape.status,
  MasterKey: masterKeySchema.shape.status,
};

/**
 * The status of a resource as a file has it, if it is one. Texts that the spec or other statuses have too are taken
 * from there: read from files each status would have its own, 60 MB of them with 100,000 keys and 500,000 models.
 */
export function storedStatus<R extends ResourceOf[Kind]>(resource: R, value: unknown): R['status'] {
  const schema: z.ZodType<ResourceOf[Kind]['status']> = schemas[resource.kind];
  const { data: status } = safeParse(schema, value);
  if (status === undefined) return undefined;
  const conditions = status.conditions && { conditions: sharedConditions(status.conditions) };
  if (resource.kind === 'UpstreamNode' && 'models' in status && status.models !== undefined) {
    return { ...status, models: withNamesOf(resource.spec.manualModels, status.models), ...conditions };
  }
  if (resource.kind !== 'UpstreamNode' && 'hashes' in status && status.hashes !== undefined) {
    const { hash } = resource.spec;
    const hashes = status.hashes.map((each) => (each.hash === hash ? { ...each, hash } : each));
    return { ...status, hashes, ...conditions };
  }
  return { ...status, ...conditions };
}

function withNamesOf(names: readonly string[] | undefined, models: readonly StatusModel[]): StatusModel[] {
  const known = new Map(names?.map((name) => [name, name]));
  return models.map((model) => ({ ...model, name: known.get(model.name) ?? model.name }));
}

const lists = new Map<string, Condition[]>();
const maxLists = 10_000;

function sharedConditions(conditions: Condition[]): Condition[] {
  const id = JSON.stringify(conditions);
  const known = lists.get(id);
  if (known !== undefined) return known;
  if (lists.size >= maxLists) lists.clear();
  lists.set(id, conditions);
  return conditions;
}
