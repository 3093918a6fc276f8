import type { UpstreamNode } from '../resources/upstream-node.ts';

/** A model of a node that a name or alias means. */
export interface ServedName {
  /** The name that the node is sent. */
  readonly model: string;
  readonly enabled: boolean;
  /** The model's own priority and weight; absent if those of the node apply. */
  readonly priority?: number;
  readonly weight?: number;
}

/**
 * The names that a node serves, real ones and aliases, with the models that each means: a real name means its own model,
 * even a disabled one; an alias means every model that has it.
 */
export function servedNames(node: UpstreamNode): Map<string, readonly ServedName[]> {
  const real = realModels(node);
  const names = new Map<string, ServedName[]>();
  for (const [name, served] of real) names.set(name, [served]);
  for (const { name, aliases } of node.spec.models ?? []) {
    const served = real.get(name);
    if (served === undefined || aliases === undefined) continue;
    for (const alias of aliases) {
      if (real.has(alias)) continue;
      const sharing = names.get(alias);
      if (sharing === undefined) names.set(alias, [served]);
      else sharing.push(served);
    }
  }
  return names;
}

/**
 * The models of a node by their real names: the discovered ones of the status and the manual ones of the spec; with
 * `discovery: Never` the manual ones alone.
 *
 * Everything that people set is read from the spec, so that it takes effect without waiting for the controller. A manual
 * model that was removed from the spec is not served although the status still lists it. A model without an entry in
 * `spec.models` is enabled or disabled as it started. An entry for a model that is in neither list has no effect.
 */
export function realModels({ spec, status }: UpstreamNode): Map<string, ServedName> {
  const wishes = new Map(spec.models?.map((entry) => [entry.name, entry]));
  const models = new Map<string, ServedName>();
  const add = (name: string, unwished: boolean) => {
    const { enabled = unwished, priority, weight } = wishes.get(name) ?? {};
    models.set(name, {
      model: name,
      enabled,
      ...(priority === undefined ? {} : { priority }),
      ...(weight === undefined ? {} : { weight }),
    });
  };
  if (spec.sync.discovery === 'Always') {
    for (const { name, enabled, startedEnabled, source } of status?.models ?? []) {
      if (source === 'Discovered') add(name, startedEnabled ?? enabled);
    }
  }
  for (const name of spec.manualModels ?? []) add(name, true);
  return models;
}

/** Whether two versions of a node certainly serve the same names, judged without reading the names; false means unknown. */
export function servesAlike(before: UpstreamNode | undefined, after: UpstreamNode | undefined): boolean {
  return before?.spec === after?.spec && before?.status?.models === after?.status?.models;
}
