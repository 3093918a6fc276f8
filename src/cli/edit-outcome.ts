import type { Kind } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import type { Declared } from './edit/declarations.ts';
import { managedNotice } from './managed-notice.ts';
import { resourceName } from './output.ts';
import { textDiff } from './text-diff.ts';
import type { WriteFlags } from './writing.ts';

/** Prints what an edit changed; a dry run prints the changed lines. Prints nothing if nothing was stored. */
export function printEdit<K extends Kind>(
  { out, err }: CommandContext,
  { dryRun }: WriteFlags,
  stored: { readonly before: Declared<K>; readonly after: Declared<K> } | undefined,
): void {
  if (stored === undefined) return;
  const { before, after } = stored;
  const name = resourceName(after.resource);
  const diff = textDiff(before.manifest, after.manifest);
  if (dryRun === true) {
    out.write(diff);
    err.write(`${name} ${diff === '' ? 'would stay as it is' : 'would be edited'} (dry run)\n`);
    return;
  }
  out.write(`${name} ${diff === '' ? 'unchanged' : 'edited'}\n`);
  if (diff !== '') err.write(managedNotice('It', before.managedBy));
}
