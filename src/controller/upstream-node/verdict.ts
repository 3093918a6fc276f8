import type { Reason } from '../../resources/reasons.ts';
import type { UpstreamErrorCode } from '../../upstream/error.ts';
import type { Window } from '../../upstream/listed-window.ts';

/** What a node lists. `truncated`: these are not all of its models. */
export interface ListedModels {
  readonly names: readonly string[];
  /** The windows that the node tells, by name. */
  readonly windows?: ReadonlyMap<string, Window>;
  readonly truncated: boolean;
}

/** The result of listing a node's models or checking it, as `upstream/` returns it. */
export type Answer =
  | ({ readonly kind: 'models' } & ListedModels)
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly retryAfterSeconds?: number | undefined;
      /** After a 404: the base URL with `/v1`, if there is a model listing under it. */
      readonly versionedBaseURL?: string | undefined;
    }
  | { readonly kind: 'invalid'; readonly message: string }
  | {
      readonly kind: 'failed';
      readonly error: { readonly code: UpstreamErrorCode; readonly message: string };
    };

/** What is wrong, for a condition. */
export interface Fault {
  readonly reason: Reason;
  readonly message: string;
}

const stallingReasons: ReadonlySet<string> = new Set<Reason>([
  'AuthenticationFailed',
  'AddressForbidden',
  'TLSFailed',
  'InvalidModelList',
  'NoModels',
]);

/** Whether only a change of the manifest can fix what this reason says. */
export function stalls(reason: string): boolean {
  return stallingReasons.has(reason);
}

/** The health by an answer. `Unchanged`: the answer says nothing about it (429, or a shortage of our own). */
export type Health =
  | { readonly state: 'Good' }
  | { readonly state: 'Unchanged'; readonly fault: Fault }
  | { readonly state: 'Bad'; readonly unreachable: boolean; readonly fault: Fault };

/** The models by an answer. `NoEndpoint`: HTTP 404, there is no listing, and the manual list is used. */
export type SyncVerdict =
  | ({ readonly kind: 'Names' } & ListedModels)
  | {
      readonly kind: 'NoEndpoint';
      /** The remedy if only the version segment is missing; undefined if there is no listing under `/v1` either. */
      readonly hint: string | undefined;
    }
  | { readonly kind: 'Failed'; readonly fault: Fault };

/** Judges an answer to the model listing as a health check: any HTTP answer but 401, 403, 429 and 5xx is good. */
export function judgeHealth(answer: Answer): Health {
  if (answer.kind === 'failed') {
    const fault = failure(answer.error);
    if (answer.error.code === 'local') return { state: 'Unchanged', fault };
    return { state: 'Bad', unreachable: unreachableReasons.has(fault.reason), fault };
  }
  if (answer.kind !== 'status') return { state: 'Good' };
  const fault = statusFault(answer.status);
  if (answer.status === 429) return { state: 'Unchanged', fault };
  if (answer.status === 401 || answer.status === 403 || answer.status >= 500) {
    return { state: 'Bad', unreachable: false, fault };
  }
  return { state: 'Good' };
}

/** Judges an answer as a model sync. */
export function judgeSync(answer: Answer, hasManual: boolean): SyncVerdict {
  switch (answer.kind) {
    case 'models':
      return { ...answer, kind: 'Names' };
    case 'status':
      if (answer.status !== 404) return { kind: 'Failed', fault: statusFault(answer.status) };
      return hasManual
        ? { kind: 'NoEndpoint', hint: versionHint(answer.versionedBaseURL) }
        : { kind: 'Failed', fault: listless(answer.versionedBaseURL) };
    case 'invalid':
      return {
        kind: 'Failed',
        fault: {
          reason: 'InvalidModelList',
          message: `GET {baseURL}/models did not answer with a model list: ${answer.message}. Check spec.baseURL, or set spec.manualModels and spec.sync.discovery: Never.`,
        },
      };
    case 'failed':
      return { kind: 'Failed', fault: failure(answer.error) };
  }
}

/** How a sync counts as a health check: as its answer does, but an invalid listing is bad too. */
export function healthOfSync(answer: Answer, sync: SyncVerdict): Health {
  const health = judgeHealth(answer);
  if (health.state !== 'Good' || sync.kind !== 'Failed') return health;
  return { state: 'Bad', unreachable: false, fault: sync.fault };
}

function listless(versionedBaseURL: string | undefined): Fault {
  const message =
    versionHint(versionedBaseURL) ??
    'GET {baseURL}/models answered 404: the node has no listing. Set spec.manualModels to the models that it serves, or correct spec.baseURL.';
  return { reason: 'NoModels', message };
}

function versionHint(versionedBaseURL: string | undefined): string | undefined {
  if (versionedBaseURL === undefined) return undefined;
  return `GET {baseURL}/models answered 404, but {baseURL}/v1/models is there: is /v1 missing? Set spec.baseURL to ${versionedBaseURL}.`;
}

function statusFault(status: number): Fault {
  const answered = `GET {baseURL}/models answered ${status}`;
  if (status === 401 || status === 403) {
    return {
      reason: 'AuthenticationFailed',
      message: `${answered}. Check the credential and spec.authentication.`,
    };
  }
  if (status === 429) {
    return {
      reason: 'UpstreamError',
      message: `${answered}: the node limits requests. It is tried again.`,
    };
  }
  if (status >= 500) {
    return { reason: 'UpstreamError', message: `${answered}. It is tried again.` };
  }
  const remedy =
    status >= 300 && status < 400
      ? 'Redirects are not followed: set spec.baseURL to the final address.'
      : 'Check spec.baseURL, or set spec.manualModels and spec.sync.discovery: Never.';
  return { reason: 'InvalidModelList', message: `${answered}. ${remedy}` };
}

const unreachableReasons: ReadonlySet<Reason> = new Set<Reason>(['UpstreamUnreachable', 'UpstreamTimeout']);

function failure({ code, message }: { readonly code: UpstreamErrorCode; readonly message: string }): Fault {
  const { reason, remedy } = failures[code];
  return { reason, message: `${capitalized(message)}. ${remedy}` };
}

const failures: Record<UpstreamErrorCode, { reason: Reason; remedy: string }> = {
  local: {
    reason: 'UpstreamUnreachable',
    remedy:
      'This says nothing of the node. It is tried again; give the controller more file descriptors, ports or memory.',
  },
  connect_refused: {
    reason: 'UpstreamUnreachable',
    remedy: 'Check the host and port of spec.baseURL and that the node runs.',
  },
  connect_timeout: {
    reason: 'UpstreamTimeout',
    remedy: 'Check the host and port of spec.baseURL and the network between.',
  },
  dns: { reason: 'UpstreamUnreachable', remedy: 'Check the host of spec.baseURL.' },
  tls: {
    reason: 'TLSFailed',
    remedy: 'Check the certificate, spec.tls.caBundle and spec.tls.serverName.',
  },
  forbidden_address: {
    reason: 'AddressForbidden',
    remedy:
      'Set spec.baseURL to an address that may be contacted. For loopback on a development machine, start controller and gateways with --allow-loopback-upstreams.',
  },
  first_byte_timeout: { reason: 'UpstreamTimeout', remedy: 'Check that the node runs.' },
  idle_timeout: { reason: 'UpstreamTimeout', remedy: 'Check that the node runs.' },
  total_timeout: {
    reason: 'UpstreamTimeout',
    remedy: 'Check that the node runs, and spec.healthCheck.timeoutSeconds.',
  },
  reset: { reason: 'UpstreamUnreachable', remedy: 'Check that the node runs.' },
  protocol: {
    reason: 'InvalidModelList',
    remedy: 'Check that spec.baseURL names an HTTP server, with the right scheme.',
  },
  too_large: {
    reason: 'InvalidModelList',
    remedy: 'Check that spec.baseURL names a model server.',
  },
};

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
