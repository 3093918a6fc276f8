import { type GatewayUnderTest, startGateway } from '../../support/gateway.ts';
import type { ScriptedUpstream } from '../../support/upstream.ts';
import type { JsonObject } from '../../support/upstream-request-body.ts';
import { checkChatRequest } from '../grammar/chat-request.ts';
import { modelNames, playModels } from './scripted-models.ts';

/** A gateway whose only node speaks nothing but chat-completions, and plays every scripted model. */
export interface ChatOnly {
  readonly gateway: GatewayUnderTest;
  readonly node: ScriptedUpstream;
  /** Bodies of the requests that the node got so far. */
  sent(): JsonObject[];
  /** Waits until the node sees that the caller has left. */
  left(): Promise<void>;
  /**
   * Throws when the node was asked for anything but chat-completions, or with a request that breaks their grammar.
   * `passedThrough`: the bodies are the client's own, so their grammar is its own matter.
   */
  close(options?: { passedThrough?: boolean }): Promise<void>;
}

export async function startChatOnly(): Promise<ChatOnly> {
  const gateway = await startGateway();
  const node = await gateway.addNode('n', {
    spec: { manualModels: modelNames, dialect: { reasoningHistoryField: 'ReasoningContent' } },
  });
  node.respondWith('/chat/completions', playModels());
  const sent = () => node.requests.map(({ body }) => JSON.parse(body.toString()) as JsonObject);
  return {
    gateway,
    node,
    sent,
    left: () => node.waitFor((all) => all.at(-1)?.clientGoneTime !== undefined, 5000),
    async close({ passedThrough = false } = {}) {
      await gateway.close();
      for (const { method, path } of node.requests)
        if (`${method} ${path}` !== 'POST /v1/chat/completions') throw new Error(`asked for ${path}`);
      if (!passedThrough) for (const body of sent()) checkChatRequest(body);
    },
  };
}

/** A red square of one pixel. */
export const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
