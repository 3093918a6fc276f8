import type { AddressRules } from './address.ts';
import { connector, type Lookup } from './connect.ts';
import type { UpstreamConnection } from './connection.ts';
import { Deadlines } from './deadlines.ts';
import { type ConnectionCounts, Pool } from './pool.ts';
import { sharedLookup } from './shared-lookup.ts';

interface Entry {
  connection: UpstreamConnection;
  readonly pool: Pool;
}

/** How long a connection is used: five minutes, a fifth more or less, so that replicas behind one name all get work. */
const shortestLifeMs = 240_000;
const longestLifeMs = 360_000;

/** One pool for each node. If a node's connection fields change it gets a new pool, and the old one drains. */
export class Pools {
  readonly #rules: AddressRules;
  readonly #lookup: Lookup;
  readonly #lifeMs: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #draining = new Set<Pool>();
  readonly #deadlines = new Deadlines();

  /** Tests pass `lookup` to resolve names, and `lifeMs` for the lifetime of the next connection. */
  constructor(options: {
    readonly rules: AddressRules;
    readonly lookup?: Lookup;
    readonly lifeMs?: () => number;
  }) {
    this.#rules = options.rules;
    this.#lookup = sharedLookup(options.lookup);
    this.#lifeMs = options.lifeMs ?? (() => connectionLifeMs(Math.random()));
  }

  /** How often each node's requests were sent again on a fresh connection; nodes with none are left out. */
  *replays(): Iterable<{ readonly node: string; readonly value: number }> {
    for (const [node, { pool }] of this.#entries) {
      if (pool.counts.replays > 0) yield { node, value: pool.counts.replays };
    }
  }

  /**
   * The pool of the node `id`: the same pool as long as origin, TLS fields and connect timeout do not change.
   * Throws TypeError if `baseURL` is not a URL.
   */
  pool(id: string, connection: UpstreamConnection): Pool {
    const entry = this.#entries.get(id);
    if (entry !== undefined) {
      if (entry.connection === connection) return entry.pool;
      if (samePool(entry.connection, connection)) {
        entry.connection = connection;
        return entry.pool;
      }
    }
    const connect = connector(connection, this.#rules, this.#lookup);
    const counts: ConnectionCounts = entry?.pool.counts ?? { replays: 0 };
    const pool = new Pool({ connect, lifeMs: this.#lifeMs, counts, deadlines: this.#deadlines });
    this.#entries.set(id, { connection, pool });
    if (entry !== undefined) this.#drain(entry.pool);
    return pool;
  }

  /** The node was deleted: its pool closes when its last request has ended. */
  release(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#drain(entry.pool);
  }

  /** Resolves when every request has ended and every connection is closed. */
  async close(): Promise<void> {
    for (const id of [...this.#entries.keys()]) this.release(id);
    await Promise.all([...this.#draining].map((pool) => pool.close()));
  }

  /** Closes every connection immediately; requests in flight fail with `reset`. */
  async destroy(): Promise<void> {
    for (const id of [...this.#entries.keys()]) this.release(id);
    await Promise.all([...this.#draining].map((pool) => pool.destroy()));
  }

  #drain(pool: Pool): void {
    this.#draining.add(pool);
    void pool.close().then(() => this.#draining.delete(pool));
  }
}

/** A random lifetime in milliseconds, so that connections opened together are not closed together. `random` is in [0, 1). */
export function connectionLifeMs(random: number): number {
  return shortestLifeMs + (longestLifeMs - shortestLifeMs) * random;
}

function samePool(a: UpstreamConnection, b: UpstreamConnection): boolean {
  return (
    (a.baseURL === b.baseURL || new URL(a.baseURL).origin === new URL(b.baseURL).origin) &&
    a.tls?.caBundle === b.tls?.caBundle &&
    a.tls?.serverName === b.tls?.serverName &&
    a.timeouts.connectSeconds === b.timeouts.connectSeconds
  );
}
