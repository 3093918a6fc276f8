import { gather } from '../../../src/controller/upstream-node/gather.ts';
import { freshMemory, type NodeMemory } from '../../../src/controller/upstream-node/memory.ts';
import { type NodePlan, plan } from '../../../src/controller/upstream-node/plan.ts';
import type { Answer } from '../../../src/controller/upstream-node/verdict.ts';
import type { UpstreamNode } from '../../../src/resources/upstream-node.ts';
import type { Credentials, NodeEntry } from '../../../src/store/store.ts';
import { nodeOf } from './resources.ts';

export const birth = Date.parse('2027-01-01T00:00:00Z');

export const listed = (...names: string[]): Answer => ({ kind: 'models', names, truncated: false });
export const status = (code: number, retryAfterSeconds?: number): Answer => ({
  kind: 'status',
  status: code,
  ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
});
export const failed = (
  code: 'local' | 'connect_refused' | 'dns' | 'tls' | 'total_timeout' | 'forbidden_address' | 'reset',
): Answer => ({
  kind: 'failed',
  error: { code, message: `message of ${code}` },
});
export const invalid: Answer = { kind: 'invalid', message: 'the answer is a web page' };

/** One node through its life, with plans carried out by hand: what is planned is written, and contacts answer at once. */
export class NodeLife {
  node: UpstreamNode;
  nowMs = birth;
  version = '1';
  credential = 'sk-1';
  credentials: 'Resolved' | 'Refused' | 'Pending' = 'Resolved';
  writes = 0;
  last: NodePlan | undefined;
  #memory: NodeMemory;

  constructor(spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}) {
    this.node = nodeOf('n', spec, {
      uid: 'u',
      generation: 1,
      creationTimestamp: new Date(birth).toISOString(),
      ...metadata,
    });
    this.#memory = freshMemory(this.nowMs);
  }

  /** Plans once. With an answer, as if the contact that was planned last had ended with it. */
  plan(answer?: Answer, answeredWith?: string): NodePlan {
    const entry: NodeEntry = {
      id: `home/${this.node.metadata.name}`,
      resource: this.node,
      nativeFormats: new Set(),
      credentials: this.#credentials(),
      checkedAtMs: 0,
    };
    const before = gather(entry, this.#memory, undefined, this.nowMs);
    const contact =
      answer === undefined
        ? undefined
        : {
            kind: this.last?.contact?.kind ?? 'check',
            answer,
            atMs: this.nowMs,
            connectionKey: answeredWith ?? before.connectionKey,
            syncRequest: before.syncRequest,
          };
    const made = plan(gather(entry, this.#memory, contact, this.nowMs));
    this.#memory = made.memory;
    if (made.status !== undefined) {
      this.writes += 1;
      this.node = { ...this.node, status: made.status };
    }
    this.last = made;
    return made;
  }

  /** Lets time pass until something is due and plans then. */
  untilDue(): NodePlan {
    const due = this.last?.nextDueMs;
    if (due === undefined) throw new Error('nothing is due');
    this.nowMs = Math.max(due, this.nowMs);
    return this.plan();
  }

  /** Lets the contact that is due answer. */
  answer(answer: Answer): NodePlan {
    if (this.last?.contact === undefined) this.untilDue();
    if (this.last?.contact === undefined) throw new Error('no contact is due');
    return this.plan(answer);
  }

  /** Changes the spec as a person would, and plans. */
  edit(spec: Record<string, unknown>): NodePlan {
    const { metadata, spec: old, status: current } = this.node;
    const changed = nodeOf(
      'n',
      { ...old, ...spec },
      { ...metadata, generation: (metadata.generation ?? 0) + 1 },
    );
    this.node = { ...changed, ...(current === undefined ? {} : { status: current }) };
    return this.plan();
  }

  annotate(value: string): NodePlan {
    const annotations = { 'modelgateway.dev/sync-requested-at': value };
    this.node = { ...this.node, metadata: { ...this.node.metadata, annotations } };
    return this.plan();
  }

  /** Another process takes over. */
  restart(): NodePlan {
    this.#memory = freshMemory(this.nowMs);
    this.last = undefined;
    return this.plan();
  }

  /** `Ready`, then the others in one line each. */
  get conditions(): string[] {
    return (this.node.status?.conditions ?? []).map(
      ({ type, status: value, reason }) => `${type}=${value} ${reason}`,
    );
  }

  get phase(): string | undefined {
    return this.node.status?.phase;
  }

  get models(): string[] {
    return (this.node.status?.models ?? []).map(
      ({ name, enabled, missedSyncs }) =>
        `${name}${enabled ? '' : '-'}${missedSyncs === undefined ? '' : `?${missedSyncs}`}`,
    );
  }

  #credentials(): Credentials {
    switch (this.credentials) {
      case 'Pending':
        return { state: 'Pending' };
      case 'Refused':
        return { state: 'Refused', reason: 'SecretNotFound', message: 'no Secret' };
      case 'Resolved':
        return {
          state: 'Resolved',
          apiKeySet: true,
          secretResourceVersion: this.version,
          connection: {
            baseURL: this.node.spec.baseURL,
            authentication: 'Bearer',
            credential: this.credential,
            headers: [],
            timeouts: this.node.spec.timeouts,
          },
        };
    }
  }
}
