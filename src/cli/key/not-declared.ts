import { DeclarationError, type Ref } from '../edit/declarations.ts';
import { isFolder, type PlaceFlags } from '../place.ts';

/**
 * Says of a key that no manifest declares where else it may be: those that programs made through `/v1/keys` lie in the
 * gateway's data folder, which only the running gateway writes. Other errors are thrown as they are.
 */
export function notDeclared(
  { kind, name }: Ref,
  flags: PlaceFlags,
  env: Readonly<Record<string, string | undefined>>,
): (error: unknown) => never {
  return (error) => {
    const isMissing = error instanceof DeclarationError && error.reason === 'NotFound';
    if (!isMissing || kind !== 'APIKey' || !isFolder(flags, env)) throw error;
    throw new DeclarationError(
      'NotFound',
      `${error.message.replace(/\.?$/, '.')} A key that was made through /v1/keys lies in the gateway's data folder: delete it there, with a master key: curl -X DELETE http://HOST:8080/v1/keys/${name} -H "Authorization: Bearer mgm_…"`,
    );
  };
}
