import type { CommandContext } from './context.ts';
import type { Declarations, Declared, Ref } from './edit/declarations.ts';
import { managedNotice } from './managed-notice.ts';
import { resourceName } from './output.ts';
import { type WriteFlags, writeOptions } from './writing.ts';

/**
 * Sets `spec.enabled` of one resource, unless it is so already, and says what came of it. `name` is what people called
 * it, `before` what was read of it.
 */
export async function switchResource(
  { out, err, signal }: CommandContext,
  place: Declarations,
  { ref, name, before }: { readonly ref: Ref; readonly name: string; readonly before: Declared },
  enabled: boolean,
  flags: WriteFlags,
): Promise<void> {
  const state = enabled ? 'enabled' : 'disabled';
  if (before.resource.spec.enabled === enabled) {
    out.write(`${resourceName(before.resource)} was ${state} already\n`);
    return;
  }
  await place.edit(ref, [{ path: ['spec', 'enabled'], value: enabled }], writeOptions(flags), signal);
  const said = flags.dryRun === true ? `would be ${state} (dry run)` : state;
  out.write(`${resourceName(before.resource)} ${said}\n`);
  err.write(managedNotice(name, before.managedBy));
}
