import type { Declarations, Ref } from '../edit/declarations.ts';

/** A node by the name that people write, with or without what `-o name` puts before it. */
export function nodeRef(place: Declarations, name: string): Ref<'UpstreamNode'> {
  const bare = name.replace(/^(upstreamnode(s)?(\.modelgateway\.dev)?|node)\//i, '');
  return { kind: 'UpstreamNode', namespace: place.namespace, name: bare };
}
