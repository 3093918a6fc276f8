import { Option } from 'commander';
import type { AddCommand } from '../add-command.ts';
import { CommandError } from '../command-error.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import type { Declarations, Ref } from '../edit/declarations.ts';
import type { Edit } from '../edit/edit.ts';
import { editResource } from '../edit-resource.ts';
import { exitCodes } from '../exit-codes.ts';
import { forEachName } from '../for-each-name.ts';
import { explained } from '../help.ts';
import { readNamed } from '../named.ts';
import { resourceName } from '../output.ts';
import { duration, type PlaceFlags, showsStatus, withPlace } from '../place.ts';
import { cannotWait, watchUntil } from '../watch-until.ts';
import { type WriteFlags, withWriting } from '../writing.ts';
import { readyCondition } from './columns.ts';
import { overlapSeconds } from './expiry.ts';
import type { AnyKey, KeyWords } from './kind.ts';

interface Flags extends PlaceFlags, WriteFlags {
  /** Seconds. */
  readonly overlap?: number;
  readonly wait: boolean;
  /** Milliseconds. */
  readonly timeout: number;
}

/** `key rotate` and `masterkey rotate` */
export function addKeyRotate(...[group, context, words]: [...Parameters<AddCommand>, KeyWords]): void {
  const { noun } = words;
  const command = group
    .command('rotate')
    .summary('issue a new key; the old one stays valid for a while')
    .description(`Issues a new ${noun} into its Secret; the old one stays valid for a while.`)
    .argument('<name...>', `names of the ${noun}s`)
    .option('--overlap <span>', 'how long the old one stays valid: 24h, 7d, 0', overlapSeconds)
    .option('--no-wait', 'do not wait until the new one is in force')
    .addOption(
      new Option('--timeout <time>', 'longest wait: 30s, 5m').argParser(duration).default(60_000, '1m'),
    )
    .action(async (names: readonly string[], flags: Flags) => {
      const place = await context.declarations(flags);
      await forEachName(context, names, (name) => rotateOne(context, place, words, name, flags));
    });
  withPlace(withWriting(command));
  completes(command, words.group);
  explained(command, {
    notes: ['Without --overlap, the overlap of the resource applies: an hour by default.'],
    examples: [`${words.group} rotate app --overlap 24h`, `${words.group} rotate app --no-wait`],
  });
}

async function rotateOne(
  context: CommandContext,
  place: Declarations,
  words: KeyWords,
  name: string,
  flags: Flags,
): Promise<void> {
  const { ref, before } = await readNamed(context, place, words, name, flags);
  const { resource } = before;
  if (resource.spec.secretName === undefined) {
    throw new CommandError(
      exitCodes.invalid,
      `only its hash is known, so no other key can be issued for it; make one with ${context.calledAs} ${words.group} create, hand it out, then revoke this one.`,
    );
  }
  const revision = Math.max(resource.spec.rotation?.revision ?? 0, issuedRevision(resource)) + 1;
  const edits: Edit[] = [{ path: ['spec', 'rotation', 'revision'], value: revision }];
  if (flags.overlap !== undefined) {
    edits.push({ path: ['spec', 'rotation', 'overlapSeconds'], value: flags.overlap });
  }
  await editResource(context, place, before, edits, flags);
  if (before.managedBy !== undefined) {
    context.err.write(
      `${name} is managed by ${before.managedBy}: raise spec.rotation.revision to ${revision} there too.\n`,
    );
  }
  if (flags.dryRun === true || !flags.wait || !showsStatus(flags, context.env)) {
    context.out.write(
      `${resourceName(resource)} asked to rotate${flags.dryRun === true ? ' (dry run)' : ''}\n`,
    );
    if (flags.dryRun !== true && flags.wait) {
      context.err.write(cannotWait);
    }
    return;
  }
  const rotated = await waitUntilIssued(context, place, ref, revision, flags.timeout);
  context.out.write(`${resourceName(resource)} rotated: ${outcome(rotated)}\n`);
}

function issuedRevision({ status }: AnyKey): number {
  return Math.max(0, ...(status?.hashes ?? []).map(({ revision = 0 }) => revision));
}

/** Throws CommandError if the controller cannot issue the key, or does not do so in time. */
async function waitUntilIssued(
  context: CommandContext,
  place: Declarations,
  ref: Ref<KeyWords['kind']>,
  revision: number,
  timeoutMs: number,
): Promise<AnyKey> {
  let found: AnyKey | undefined;
  let refusal: string | undefined;
  await watchUntil(context, place, ref.kind, timeoutMs, ({ ref: changed, after }) => {
    if (changed.name !== ref.name) return false;
    const key = after?.resource;
    if (key === undefined) refusal = 'it was deleted while the command waited';
    else if ((key.status?.hashes?.[0]?.revision ?? 0) >= revision) found = key;
    else refusal = refusedBy(key);
    return found !== undefined || refusal !== undefined;
  });
  if (found !== undefined) return found;
  if (refusal !== undefined) throw new CommandError(exitCodes.failed, refusal);
  throw new CommandError(
    exitCodes.timeout,
    `no new key in ${timeoutMs / 1_000} s; the old one stays valid. Is the controller running? Wait longer with --timeout.`,
  );
}

/** Why the controller cannot issue a key for the current spec; undefined while it still may. */
function refusedBy(key: AnyKey): string | undefined {
  const ready = readyCondition(key);
  const isCurrent = key.status?.observedGeneration === key.metadata.generation;
  const isFinal = ready?.reason === 'SecretConflict' || ready?.reason === 'Revoked';
  return isCurrent && isFinal ? ready.message : undefined;
}

function outcome({ spec, status }: AnyKey): string {
  const [current, former] = status?.hashes ?? [];
  const end =
    former?.expirationTime === undefined
      ? 'no older key is in force'
      : `the old one, ${former.hint ?? 'without a hint'}, ends at ${former.expirationTime}`;
  return `the new key ${current?.hint ?? ''} is in the Secret ${spec.secretName}; ${end}`;
}
