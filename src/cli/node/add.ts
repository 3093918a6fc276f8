import type { AddCommand } from '../add-command.ts';
import { usageError } from '../command-error.ts';
import type { CommandContext } from '../context.ts';
import { applyEdits } from '../edit/apply-edits.ts';
import type { Declarations, Manifest, Ref } from '../edit/declarations.ts';
import type { Edit } from '../edit/edit.ts';
import { sealedKeyEdits } from '../edit/node-edits.ts';
import { explained } from '../help.ts';
import { namedRef, nodeWords } from '../named.ts';
import { resourceName } from '../output.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { readAll } from '../read-secret.ts';
import { type WriteFlags, withWriting } from '../writing.ts';
import { type KeyFlags, keyWish, readKey, secretKeyEdits, withKeyFlags } from './key-flags.ts';
import { type NodeFlags, nodeEdits, withNodeFlags } from './node-flags.ts';

interface Flags extends PlaceFlags, WriteFlags, NodeFlags, KeyFlags {
  readonly disabled?: boolean;
}

/** `node add` */
export const addNodeAdd: AddCommand = (group, context) => {
  const command = group
    .command('add')
    .summary('declare a node; its key is sealed on this machine')
    .description('Declares a node. On a terminal it asks for the API key, and seals it at once.')
    .argument('<name>', 'name of the node')
    .action((name: string, flags: Flags) => addOne(context, name, flags));
  withKeyFlags(withNodeFlags(command)).option('--disabled', 'declare it without letting it take requests');
  withPlace(withWriting(command));
  explained(command, {
    examples: [
      'node add local --base-url http://ollama/v1 --model qwen3',
      'node add a --base-url http://a/v1 --api-key-stdin <key',
    ],
  });
};

async function addOne(context: CommandContext, name: string, flags: Flags): Promise<void> {
  const { signal, out, err } = context;
  const { baseUrl } = flags;
  if (baseUrl === undefined) {
    throw usageError('--base-url is missing: the address of the API, as in https://api.example.com/v1.');
  }
  const wish = keyWish(flags);
  const place = await context.declarations(flags);
  const ref = namedRef(place, nodeWords, name);
  const edits: Edit[] = await nodeEdits(flags, () => readAll(context.stdin));
  if (flags.disabled === true) edits.push({ path: ['spec', 'enabled'], value: false });
  if (flags.apiKeySecret !== undefined) edits.push(...secretKeyEdits(flags.apiKeySecret));
  const create = (more: readonly Edit[], dryRun: boolean) =>
    place.create(manifestOf(ref, [...edits, ...more]), { dryRun }, signal);

  // Before the key is read, because nobody should type one for a node that is refused.
  const judged = await create([], true);
  const key = await keyEdits(context, place, ref, baseUrl, wish);
  if (flags.dryRun === true) {
    const { manifest } = key.length === 0 ? judged : await create(key, true);
    out.write(`${manifest.trimEnd()}\n`);
    return;
  }
  const { resource } = await create(key, false);
  out.write(`${resourceName(resource)} created\n`);
  if (wish === 'keep' && key.length === 0) {
    err.write(
      `It has no API key; give it one with: ${context.calledAs} node edit ${ref.name} --api-key-prompt\n`,
    );
  }
}

async function keyEdits(
  context: CommandContext,
  place: Declarations,
  ref: Ref<'UpstreamNode'>,
  baseURL: string,
  wish: ReturnType<typeof keyWish>,
): Promise<readonly Edit[]> {
  if (wish === 'secret') return [];
  const from = wish === 'stdin' ? 'stdin' : 'prompt';
  // Without a terminal no key is read: a local server needs none.
  if (from === 'prompt' && !context.isTerminal.stdin) return [];
  const key = await readKey(context, from, `API key of ${ref.name} (not shown; Enter for none): `);
  if (key === undefined && from === 'stdin') {
    throw usageError('stdin held no API key; pipe it in, or leave out --api-key-stdin.');
  }
  return key === undefined ? [] : sealedKeyEdits(place, ref, baseURL, key, context.signal);
}

function manifestOf(
  { kind, namespace, name }: Ref<'UpstreamNode'>,
  edits: readonly Edit[],
): Manifest<'UpstreamNode'> {
  const { spec } = applyEdits({ spec: {} }, edits);
  return { kind, metadata: { namespace, name }, spec: spec as Record<string, unknown> };
}
