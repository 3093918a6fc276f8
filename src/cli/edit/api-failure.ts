import { ApiError, type ErrorCause } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { errorText } from '../../observe/error-text.ts';
import { parseResource } from '../../resources/parse.ts';
import type { Problem } from '../../resources/problem.ts';
import { resourceAddress } from '../../store/resource-address.ts';
import type { Kind } from '../../store/store.ts';
import { DeclarationError } from './declarations.ts';

/** A call to the API server. */
export interface Asked {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'patch' | 'delete';
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name?: string;
  /** The whole object that was to be stored: our own messages about its faults name a remedy. */
  readonly wanted?: unknown;
}

/** A failed call to the API server, for people: what is missing or wrong, and what to do. */
export function apiFailure(error: unknown, asked: Asked, client: KubeClient): DeclarationError {
  if (error instanceof DeclarationError) return error;
  if (!(error instanceof ApiError)) {
    const text = errorText(error);
    return new DeclarationError('Unavailable', `The cluster cannot be asked: ${text}.`);
  }
  const { status, reason } = error;
  if (status === 0) return unreached(error, client);
  if (status === 401) return unauthorized(client);
  if (status === 403) return forbidden(error, asked);
  if (status === 404) return notFound(error, asked, client);
  if (status === 409) return conflict(error, asked);
  if (status === 400 || status === 413 || status === 422) return invalid(error, asked);
  // An apply answers 500 to a field that it does not know and to a value of the wrong type.
  if (status === 500 && /typed patch|not declared in schema|: expected /.test(error.message))
    return invalid(error, asked);
  if (status === 429 || status >= 500) {
    return new DeclarationError(
      'Unavailable',
      `The API server ${client.place().server} cannot answer now (${status} ${reason}); try again.`,
    );
  }
  return new DeclarationError('Unavailable', `The API server answered ${status} ${reason}.`);
}

/** `UpstreamNode team-a/openai`. */
export function thing({ kind, namespace, name }: Pick<Asked, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace}/${name}`;
}

function unreached(error: ApiError, client: KubeClient): DeclarationError {
  const { server } = client.place();
  const { message, reason } = error;
  if (reason === 'CredentialsUnavailable') {
    return new DeclarationError('Unavailable', `No credentials for ${server}: ${message}.`);
  }
  const code = /\(([A-Z_]+)\)$/.exec(message)?.[1];
  const why =
    reason === 'Timeout'
      ? 'gave no answer in time'
      : `cannot be reached${code === undefined ? '' : ` (${code})`}`;
  return new DeclarationError(
    'Unavailable',
    `The API server ${server} ${why}; check the network, --context and --kubeconfig.`,
  );
}

function unauthorized(client: KubeClient): DeclarationError {
  const { server, context } = client.place();
  return new DeclarationError(
    'Forbidden',
    `The API server ${server} does not accept the credentials of context ${context}; log in again, or choose another with --context.`,
  );
}

// As the API server's authorizer writes it.
const refusal = /User "([^"]*)" cannot (\S+) resource "([^"]*)"(?:.* in the namespace "([^"]*)")?/;

function forbidden({ message }: ApiError, asked: Asked): DeclarationError {
  const [, user, verb, , namespace] = refusal.exec(message) ?? [];
  // An admission policy, a quota, or a namespace that is being deleted: only the server knows why.
  if (user === undefined || verb === undefined)
    return new DeclarationError('Forbidden', `The cluster refuses it: ${message}`);
  const { group, plural } = resourceAddress(asked.kind);
  const resource = /resource "([^"]*)"/.exec(message)?.[1] ?? plural;
  const full = resource === plural ? `${plural}.${group}` : resource;
  const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
  const remedy =
    namespace === undefined && (verb === 'list' || verb === 'watch')
      ? 'name one namespace with -n, or ask an admin of the cluster for the permission'
      : 'ask an admin of the cluster for the permission';
  return new DeclarationError('Forbidden', `${user} may not ${verb} ${full} ${where}; ${remedy}.`);
}

function notFound(error: ApiError, asked: Asked, client: KubeClient): DeclarationError {
  if (/requested resource|page not found/.test(error.message) || error.reason === 'HTTP404') {
    const { group, plural } = resourceAddress(asked.kind);
    return new DeclarationError(
      'Unavailable',
      `The cluster at ${client.place().server} does not know ${plural}.${group}; install the CRDs: kubectl apply -f crds.`,
    );
  }
  if (/^namespaces? "/.test(error.message)) {
    return new DeclarationError(
      'NotFound',
      `There is no namespace ${asked.namespace}; create it, or name another with -n.`,
    );
  }
  return new DeclarationError('NotFound', `There is no ${thing(asked)}.`);
}

function conflict(error: ApiError, asked: Asked): DeclarationError {
  if (error.reason === 'AlreadyExists') {
    return new DeclarationError(
      'AlreadyExists',
      `There is ${thing(asked)} already; edit it, or choose another name.`,
    );
  }
  const causes = error.causes.filter(({ reason }) => reason === 'FieldManagerConflict');
  if (causes.length > 0) {
    return ownedByOthers(
      asked,
      causes.map(({ field, message }) => ({
        field: field.replace(/^\./, ''),
        manager: /conflict with "([^"]*)"/.exec(message)?.[1] ?? 'another manager',
      })),
    );
  }
  return changedMeanwhile(asked);
}

/** The refusal to edit a resource that is no longer what the person read. */
export function changedMeanwhile(asked: Pick<Asked, 'kind' | 'namespace' | 'name'>): DeclarationError {
  return new DeclarationError(
    'Conflict',
    `${thing(asked)} changed since you read it; see what changed, and try again.`,
  );
}

/** The refusal to edit fields that others own. */
export function ownedByOthers(
  asked: Pick<Asked, 'kind' | 'namespace' | 'name'>,
  claims: readonly { readonly field: string; readonly manager: string }[],
): DeclarationError {
  const managers = new Map<string, string[]>();
  for (const { manager, field } of claims) {
    const fields = managers.get(manager) ?? [];
    if (!fields.includes(field)) managers.set(manager, [...fields, field]);
  }
  const parts = [...managers].map(([manager, fields]) => `${manager} owns ${listed(fields)}`);
  return new DeclarationError(
    'Conflict',
    `${thing(asked)}: ${parts.join('; ')}. Change it there, or take it over with --force (the owner may put it back).`,
    claims.map(({ field, manager }) => ({ field, message: `is owned by ${manager}` })),
  );
}

const fieldsNamed = 5;

function listed(fields: readonly string[]): string {
  const more = fields.length - fieldsNamed;
  return more > 0 ? `${fields.slice(0, fieldsNamed).join(', ')} and ${more} more` : fields.join(', ');
}

function invalid(error: ApiError, asked: Asked): DeclarationError {
  const parsed = asked.wanted === undefined ? undefined : parseResource(asked.wanted);
  const ours = parsed !== undefined && 'problems' in parsed ? parsed.problems : [];
  const theirs = error.causes.filter(({ field }) => field !== '' && field !== '<nil>').map(cleaned);
  // The server decides. If our own rules find the same fault, their message is used, because it names a remedy.
  const causes = [
    ...ours.map(ourCause),
    ...theirs.filter(({ field }) => !ours.some(({ path }) => samePlace(path, field))),
  ];
  if (causes.length > 0) return invalidResource(asked, causes);
  return new DeclarationError(
    'Invalid',
    `The cluster refuses ${thing(asked)}: ${withoutValues(error.message)}`,
  );
}

/** The refusal of a resource, with the fault of each field. */
export function invalidResource(
  asked: Pick<Asked, 'kind' | 'namespace' | 'name'>,
  causes: readonly { readonly field: string; readonly message: string }[],
  where = '',
): DeclarationError {
  const faults = causes.slice(0, fieldsNamed).map(({ field, message }) => `${field}: ${message}`);
  const more = causes.length > fieldsNamed ? `; and ${causes.length - fieldsNamed} more` : '';
  const all = `${faults.join('; ')}${more}`;
  const stop = all.endsWith('?') ? '' : '.';
  return new DeclarationError('Invalid', `${thing(asked)}${where} is not valid: ${all}${stop}`, causes);
}

/** One of our own problems as a cause. */
export function ourCause({ path, value, reason, remedy }: Problem): { field: string; message: string } {
  return { field: path, message: `${value === undefined ? '' : `${value} `}${reason}; ${remedy}` };
}

function samePlace(ours: string, theirs: string): boolean {
  return ours === theirs || ours.startsWith(`${theirs}.`) || theirs.startsWith(`${ours}.`);
}

function cleaned({ field, message }: ErrorCause): { field: string; message: string } {
  const text = withoutValues(message);
  return {
    field,
    message: text.startsWith(`${field} in body `) ? text.slice(`${field} in body `.length) : text,
  };
}

/** Removes the values that the server quotes, because a credential may be in the wrong field. */
function withoutValues(message: string): string {
  return message
    .replaceAll(/Invalid value: (?:"(?:[^"\\]|\\.)*"|\{.*?\}|[^\s:]+): /gs, '')
    .replaceAll(/(Unsupported value: )"(?:[^"\\]|\\.)*"/g, '$1…');
}
