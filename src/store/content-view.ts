import type { Content } from './content.ts';
import type { Store, View } from './store.ts';

/** What every store reads from its content. To be extended by `Object.assign`: a spread would freeze `synced`. */
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
