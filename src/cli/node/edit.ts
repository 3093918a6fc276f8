import type { UpstreamNode } from '../../resources/upstream-node.ts';
import type { AddCommand } from '../add-command.ts';
import { usageError } from '../command-error.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import { type Declarations, type Declared, refOf } from '../edit/declarations.ts';
import type { Edit } from '../edit/edit.ts';
import { clearedKeyEdits, sealedKeyEdits } from '../edit/node-edits.ts';
import { editInEditor } from '../edit-in-editor.ts';
import { printEdit } from '../edit-outcome.ts';
import { editResource } from '../edit-resource.ts';
import { editorOf } from '../editor.ts';
import { explained } from '../help.ts';
import { namedRef, nodeWords } from '../named.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { readAll } from '../read-secret.ts';
import { type WriteFlags, withWriting } from '../writing.ts';
import { type KeyFlags, keyWish, readKey, secretKeyEdits, withKeyFlags } from './key-flags.ts';
import { type NodeFlags, nodeEdits, withNodeFlags } from './node-flags.ts';

interface Flags extends PlaceFlags, WriteFlags, NodeFlags, KeyFlags {}

/** `node edit` */
export const addNodeEdit: AddCommand = (group, context) => {
  const command = group
    .command('edit')
    .summary('change a node by flags, or in your editor')
    .description('Changes a node by flags; without flags, in KUBE_EDITOR, VISUAL or EDITOR.')
    .argument('<name>', 'name of the node')
    .action((name: string, flags: Flags) => editOne(context, name, flags));
  withKeyFlags(withNodeFlags(command))
    .option('--api-key-prompt', 'type the API key; Enter keeps the current one')
    .option('--clear-api-key', 'remove the API key');
  completes(command, 'node');
  withPlace(withWriting(command));
  explained(command, {
    examples: [
      'node edit openai --priority 80 --model gpt-5,gpt-5-mini',
      'node edit openai --api-key-stdin <key',
    ],
  });
};

async function editOne(context: CommandContext, name: string, flags: Flags): Promise<void> {
  const wish = keyWish(flags);
  const place = await context.declarations(flags);
  const before = await place.get(namedRef(place, nodeWords, name), context.signal);
  const edits = await nodeEdits(flags, () => readAll(context.stdin));
  if (edits.length === 0 && wish === 'keep') {
    const editor = editorOf(context);
    if (editor === undefined) {
      const message = 'nothing to change: give flags (node edit --help), or name an editor in EDITOR.';
      throw usageError(message);
    }
    return printOutcome(context, flags, await editInEditor(context, place, before, editor, flags));
  }
  edits.push(...(await keyEdits(context, place, before, flags, wish)));
  if (edits.length === 0) {
    context.err.write('The key is empty, so the current one stays; nothing was changed.\n');
    return;
  }
  return printOutcome(context, flags, await editResource(context, place, before, edits, flags));
}

async function keyEdits(
  context: CommandContext,
  place: Declarations,
  before: Declared<'UpstreamNode'>,
  flags: Flags,
  wish: ReturnType<typeof keyWish>,
): Promise<readonly Edit[]> {
  const { metadata, spec } = before.resource;
  if (wish === 'clear') return clearedKeyEdits;
  if (wish === 'secret') return secretKeyEdits(flags.apiKeySecret ?? '');
  const baseURL = flags.baseUrl ?? spec.baseURL;
  const moves = spec.encryptedAPIKey !== undefined && originOf(baseURL) !== originOf(spec.baseURL);
  const from = wish === 'keep' ? (moves && context.isTerminal.stdin ? 'prompt' : undefined) : wish;
  const key =
    from === undefined
      ? undefined
      : await readKey(
          context,
          from,
          `API key of ${metadata.name} (not shown; Enter keeps the current one): `,
        );
  if (key !== undefined) return sealedKeyEdits(place, refOf(before), baseURL, key, context.signal);
  // A sealed key opens only for one origin, so the node would get no requests.
  if (moves) {
    const message = `the current key is sealed for ${originOf(spec.baseURL)} and does not open for ${originOf(baseURL)}: give the key again with --api-key-stdin, or remove it with --clear-api-key.`;
    throw usageError(message);
  }
  return [];
}

/** A notice that a change of `newModels` leaves known models as they are; empty without such a change or models. */
function newModelsNotice({ spec, status }: UpstreamNode, { metadata, spec: now }: UpstreamNode): string {
  const { modelCount = 0, enabledModelCount = 0 } = status ?? {};
  if (spec.sync.newModels === now.sync.newModels || modelCount === 0) return '';
  const state = now.sync.newModels.toLowerCase();
  const verb = state === 'enabled' ? 'enable' : 'disable';
  return `Models discovered from now on start ${state}. Known models stay as they are (${enabledModelCount} of ${modelCount} enabled): switch them with \`model ${verb} ${metadata.name} NAMES\`, or leave them out with --exclude-models.\n`;
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? url;
}

function printOutcome(
  context: CommandContext,
  flags: Flags,
  stored: { readonly before: Declared<'UpstreamNode'>; readonly after: Declared<'UpstreamNode'> } | undefined,
): void {
  printEdit(context, flags, stored);
  if (stored === undefined || flags.dryRun === true) return;
  context.err.write(newModelsNotice(stored.before.resource, stored.after.resource));
}
