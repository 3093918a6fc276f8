import type { ApiKey } from '../../resources/api-key.ts';
import type { View } from '../../store/store.ts';
import { mayUse } from '../../store/tenancy.ts';

/**
 * The names of the allowlist that no node serves among those that the key may use; undefined without an allowlist. A
 * disabled node or model counts as serving, because the condition is meant to find wrong names.
 */
export function missingModels(
  key: ApiKey,
  view: Pick<View, 'served'>,
  homeNamespace: string,
): string[] | undefined {
  return key.spec.models?.filter(
    (name) =>
      !(view.served(name)?.candidates ?? []).some(({ node }) => mayUse(key, node.resource, homeNamespace)),
  );
}
