import { type Command, Option } from 'commander';
import { errorText } from '../../observe/error-text.ts';
import { CommandError, usageError } from '../command-error.ts';
import type { CommandContext } from '../context.ts';
import type { Edit } from '../edit/edit.ts';
import { exitCodes } from '../exit-codes.ts';
import { GivenUp, readSecret } from '../read-secret.ts';
import type { NodeFlags } from './node-flags.ts';

/** The flags that say where a node's key comes from. */
export interface KeyFlags {
  readonly apiKey?: string | true;
  readonly apiKeyStdin?: boolean;
  readonly apiKeyPrompt?: boolean;
  readonly apiKeySecret?: string;
  readonly clearApiKey?: boolean;
}

/** Adds the flags of `KeyFlags`. `--api-key` exists only so that it can be refused with the reason. */
export function withKeyFlags(command: Command): Command {
  return command
    .option('--api-key-stdin', 'read the API key from stdin; it is sealed at once')
    .option('--api-key-secret <name>', 'take it from a Secret: NAME or NAME/ENTRY (apiKey)')
    .addOption(new Option('--home-namespace <name>', "the controller's namespace").hideHelp())
    .addOption(new Option('--api-key [value]').hideHelp());
}

/** Where the key comes from; `keep` without a flag. Throws CommandError for flags that exclude each other. */
export function keyWish(
  flags: KeyFlags & Pick<NodeFlags, 'modelsFile'>,
): 'keep' | 'stdin' | 'prompt' | 'clear' | 'secret' {
  if (flags.apiKey !== undefined) {
    throw usageError(
      '--api-key takes no key: an argument stays in the shell history and shows in the list of processes. ' +
        'Pipe the key in with --api-key-stdin, or type it when asked.',
    );
  }
  const wishes = [
    flags.apiKeyStdin === true && ('stdin' as const),
    flags.apiKeyPrompt === true && ('prompt' as const),
    flags.clearApiKey === true && ('clear' as const),
    flags.apiKeySecret !== undefined && ('secret' as const),
  ].filter((wish) => wish !== false);
  const [wish, other] = wishes;
  if (other !== undefined) {
    const names = {
      stdin: '--api-key-stdin',
      prompt: '--api-key-prompt',
      clear: '--clear-api-key',
      secret: '--api-key-secret',
    };
    throw usageError(
      `${names[wish ?? 'stdin']} and ${names[other]} exclude each other; leave one of them out.`,
    );
  }
  if (wish === 'stdin' && flags.modelsFile === '-') {
    const message = '--api-key-stdin and --models-file - both read stdin; leave one of them out.';
    throw usageError(message);
  }
  return wish ?? 'keep';
}

/** Reads a key from stdin or a prompt. Undefined for an empty one, which keeps the current key. */
export async function readKey(
  context: CommandContext,
  from: 'stdin' | 'prompt',
  prompt: string,
): Promise<string | undefined> {
  if (from === 'prompt' && !context.isTerminal.stdin) {
    throw usageError('there is no terminal to type a key on: pipe it in with --api-key-stdin.');
  }
  try {
    const key = await readSecret(prompt, context.stdin, context.err, { mayBeEmpty: true });
    return key === '' ? undefined : key;
  } catch (error) {
    if (error instanceof GivenUp) throw new CommandError(exitCodes.interrupted, '');
    throw usageError(errorText(error));
  }
}

/** The edits that take the key from a Secret, given as `NAME` or `NAME/ENTRY`. */
export function secretKeyEdits(text: string): Edit[] {
  const [name = '', key, ...more] = text.split('/');
  if (name === '' || key === '' || more.length > 0) {
    throw usageError(`--api-key-secret: ${JSON.stringify(text)} is not NAME or NAME/ENTRY.`);
  }
  return [
    { path: ['spec', 'encryptedAPIKey'], remove: true },
    { path: ['spec', 'apiKeySecretRef'], value: key === undefined ? { name } : { name, key } },
  ];
}
