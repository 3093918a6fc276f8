import type { Detail, Edited, Place, Refused, Rights } from '../shapes.ts';

/** The server refused or could not be reached. `reason` is one of a closed list; `causes` name fields. */
export class Refusal extends Error {
  readonly reason: string;
  readonly causes: Refused['causes'];

  constructor({ reason, message, causes }: Refused) {
    super(message);
    this.reason = reason;
    this.causes = causes;
  }
}

const away: Refused = {
  reason: 'Unreachable',
  message: 'The console does not answer. Is `model-gateway console` still running?',
  causes: [],
};

/** Asks the server. Throws Refusal. */
export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(path, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch(() => {
    throw new Refusal(away);
  });
  const said: unknown = await answer.json().catch(() => ({ error: away }));
  if (!answer.ok) throw new Refusal((said as { error: Refused }).error);
  return said as T;
}

export interface Ref {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** What may be changed of a resource. A credential goes one way: there is no call that returns one. */
export interface Wishes {
  readonly edits?: readonly FieldEdit[];
  readonly models?: { readonly names: readonly string[]; readonly enabled: boolean };
  readonly apiKey?: string;
  readonly clearApiKey?: true;
  readonly sync?: true;
  /** Makes a key here and declares its hash: for keys without a Secret. */
  readonly newKey?: true;
}

export type FieldEdit =
  | { readonly path: readonly (string | { readonly name: string })[]; readonly value: unknown }
  | { readonly path: readonly (string | { readonly name: string })[]; readonly remove: true };

export interface EditOptions {
  readonly version?: string;
  readonly dryRun?: boolean;
  /** Takes over fields that another manager owns. */
  readonly force?: boolean;
}

const pathOf = ({ kind, namespace, name }: Ref): string =>
  `/api/resources/${kind}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;

export const readPlace = (): Promise<Place> => ask('GET', '/api/place');
export const readRights = (namespace: string): Promise<Rights> =>
  ask('GET', `/api/rights?namespace=${encodeURIComponent(namespace)}`);
export const readDetail = (ref: Ref): Promise<Detail> => ask('GET', pathOf(ref));
export const edit = (ref: Ref, wishes: Wishes, options: EditOptions = {}): Promise<Edited> =>
  ask('POST', pathOf(ref), { wishes, ...options });
export const remove = (ref: Ref, version?: string): Promise<unknown> =>
  ask('DELETE', pathOf(ref), { version });
/** Declares a new resource. `value` is there for a key made here: it is shown once. */
export const create = (
  ref: Ref,
  wishes: Wishes,
  options: EditOptions = {},
): Promise<Edited & { readonly value?: string }> => ask('PUT', pathOf(ref), { wishes, ...options });
