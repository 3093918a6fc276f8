import type { CommandContext } from './context.ts';
import type { Declarations, Declared, Ref } from './edit/declarations.ts';
import { managedNotice } from './managed-notice.ts';
import { resourceName } from './output.ts';

/**
 * Deletes one resource and says so, in the word of the command that did. `name` is what people called it, `before` what
 * was read of it.
 */
export async function removeResource(
  { out, err, signal }: CommandContext,
  place: Declarations,
  { ref, name, before }: { readonly ref: Ref; readonly name: string; readonly before: Declared },
  word: 'deleted' | 'revoked',
  dryRun: boolean,
): Promise<void> {
  await place.remove(ref, { dryRun }, signal);
  out.write(`${resourceName(before.resource)} ${dryRun ? `would be ${word} (dry run)` : word}\n`);
  err.write(managedNotice(name, before.managedBy, 'removed'));
}
