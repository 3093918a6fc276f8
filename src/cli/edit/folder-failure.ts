import { errorCode, errorText } from '../../observe/error-text.ts';
import { changeProblems } from '../../resources/change.ts';
import { parseResource } from '../../resources/parse.ts';
import type { Kind, ResourceOf } from '../../store/store.ts';
import { invalidResource, ourCause } from './api-failure.ts';
import { DeclarationError, type Ref } from './declarations.ts';

/** Refuses an object that standalone mode would not apply. Throws DeclarationError `Invalid`. */
export function judge(ref: Ref, before: ResourceOf[Kind] | undefined, wanted: unknown): void {
  const parsed = parseResource(wanted);
  const problems =
    'problems' in parsed
      ? parsed.problems
      : before === undefined
        ? []
        : changeProblems(before, parsed.resource);
  if (problems.length > 0) throw invalidResource(ref, problems.map(ourCause));
}

/** The failure to read or write a file or folder, for people. */
export function fileFailure(error: unknown, path: string): DeclarationError {
  const code = errorCode(error);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    const why = code === 'EROFS' ? 'the file system is read-only' : `permission is missing (${code})`;
    return new DeclarationError('Forbidden', `${path} cannot be written: ${why}; check who owns it.`);
  }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new DeclarationError(
      'Unavailable',
      `${path} cannot be written: the disk is full; free some space.`,
    );
  if (code === 'ENOENT')
    return new DeclarationError('Unavailable', `${path} does not exist; name another with --manifests.`);
  const reason = code ?? errorText(error);
  return new DeclarationError('Unavailable', `${path} cannot be read or written (${reason}).`);
}
