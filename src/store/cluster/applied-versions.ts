import { type AppliedEntry, mostReported } from '../../resources/gateway-report.ts';
import type { Kind } from '../store.ts';

const fields = {
  UpstreamNode: 'upstreamNodes',
  APIKey: 'apiKeys',
  MasterKey: 'masterKeys',
} as const satisfies Record<Kind, keyof AppliedEntry>;

/**
 * Up to which resourceVersion requests see each kind in each namespace that is followed. It is set after the content is in
 * use, never before.
 */
export class AppliedVersions {
  readonly #versions = new Map<string, Map<Kind, string | undefined>>();
  readonly #listeners = new Set<() => void>();

  /** Sets the version of a kind in a namespace (undefined: in all); no version means that nothing up to date is in use. */
  set(kind: Kind, namespace: string | undefined, version: string | undefined): void {
    const place = namespace ?? '*';
    const known = this.#versions.get(place) ?? new Map<Kind, string | undefined>();
    known.set(kind, version);
    this.#versions.set(place, known);
  }

  /** The namespace is not served any more, and nothing of it is in use. */
  forget(namespace: string): void {
    this.#versions.delete(namespace);
  }

  /** A key changed in what it opens: it is reported soon, because a person may wait for it. */
  noteKeyChange(): void {
    for (const listener of this.#listeners) listener();
  }

  onKeyChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** The versions as a report holds them. */
  entries(): { readonly applied: AppliedEntry[]; readonly appliedTruncated?: true } {
    const applied: AppliedEntry[] = [];
    for (const [namespace, versions] of this.#versions) {
      if (applied.length === mostReported.namespaces) return { applied, appliedTruncated: true };
      const entry: AppliedEntry = { namespace };
      for (const [kind, version] of versions) if (version !== undefined) entry[fields[kind]] = version;
      applied.push(entry);
    }
    return { applied };
  }
}
