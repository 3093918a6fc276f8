import { ApiError } from '../../kube/api-error.ts';
import { StoreError } from '../store.ts';

/** Describes a failed call to the API server for people, without any text of the server. */
export function toStoreError(error: unknown): StoreError {
  if (!(error instanceof ApiError))
    return new StoreError('Unavailable', 'The call to the API server failed.', { cause: error });
  const retry = error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs };
  const of = (reason: StoreError['reason'], message: string): StoreError =>
    new StoreError(reason, message, { ...retry, cause: error });
  if (error.status === 404) return of('NotFound', 'The object does not exist any more.');
  if (error.status === 409 && error.reason === 'AlreadyExists')
    return of('AlreadyExists', 'An object of this name already exists.');
  if (error.status === 409) return of('Conflict', 'The object was changed after it was read.');
  if (error.status === 403)
    return of(
      'Forbidden',
      'The API server refuses this to the service account; see its Role, quota and admission policies.',
    );
  if (error.status === 400 || error.status === 422)
    return of('Invalid', 'The API server refuses the object as invalid.');
  return of('Unavailable', 'The API server cannot be reached or is overloaded.');
}
