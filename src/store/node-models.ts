import type { UpstreamNode } from '../resources/upstream-node.ts';

/** What a name means on one node. */
export interface ServedName {
  /** The name that the node is sent. */
  readonly model: string;
  readonly enabled: boolean;
}

/**
 * The names that a node knows, real ones and aliases, and what each stands for.
 *
 * Real names are the discovered ones of the status and the manual ones of the spec; with `discovery: Never` the
 * manual ones alone. Everything a person can set is read from the spec, so that it bites without waiting for the
 * controller: a manual model that left the spec is gone although the status still lists it, and a wish that was taken
 * back leaves what the model started as. An entry of `spec.models` that no list knows serves nothing.
 */
export function servedNames(node: UpstreamNode): Map<string, ServedName> {
  const { spec, status } = node;
  const wishes = new Map(spec.models?.map((entry) => [entry.name, entry.enabled]));
  const names = new Map<string, ServedName>();
  if (spec.sync.discovery === 'Always') {
    for (const { name, enabled, startedEnabled, source } of status?.models ?? []) {
      if (source !== 'Discovered') continue;
      names.set(name, { model: name, enabled: wishes.get(name) ?? startedEnabled ?? enabled });
    }
  }
  for (const name of spec.manualModels ?? []) {
    names.set(name, { model: name, enabled: wishes.get(name) ?? true });
  }
  addAliases(node, names);
  return names;
}

/** Whether two versions of a node serve the same names, told without a look at one; false says nothing. */
export function servesAlike(before: UpstreamNode | undefined, after: UpstreamNode | undefined): boolean {
  return before?.spec === after?.spec && before?.status?.models === after?.status?.models;
}

function addAliases(node: UpstreamNode, names: Map<string, ServedName>): void {
  const aliases = new Map<string, ServedName>();
  for (const { name, aliases: wished } of node.spec.models ?? []) {
    const real = names.get(name);
    if (real === undefined || wished === undefined) continue;
    for (const alias of wished) {
      if (names.has(alias)) continue;
      const other = aliases.get(alias);
      if (other === undefined || name < other.model) aliases.set(alias, real);
    }
  }
  for (const [alias, real] of aliases) names.set(alias, real);
}
