import type { Content } from './content.ts';
import type { Store, View } from './store.ts';

/** The part of a store that is read from its content. Extend it with `Object.assign`: a spread would freeze the value of `synced`. */
export function contentView(content: Content): View & Pick<Store, 'whenSynced' | 'subscribe'> {
  return {
    get: content.get.bind(content),
    list: content.list.bind(content),
    key: content.key.bind(content),
    claims: content.claims.bind(content),
    served: content.served.bind(content),
    servedNames: content.servedNames.bind(content),
    node: content.node.bind(content),
    sealingIdentities: content.sealingIdentities.bind(content),
    get synced() {
      return content.synced;
    },
    whenSynced: content.whenSynced.bind(content),
    subscribe: content.subscribe.bind(content),
  };
}
