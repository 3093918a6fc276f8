import { randomBytes } from 'node:crypto';
import {
  checkKeyText,
  generateKeyText,
  hashKeyText,
  keyHint,
  keyTextKind,
} from '../../resources/key-text.ts';
import type { AddCommand } from '../add-command.ts';
import { CommandError, usageError } from '../command-error.ts';
import type { CommandContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { explained } from '../help.ts';
import { namedRef } from '../named.ts';
import { resourceName } from '../output.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { readAll } from '../read-secret.ts';
import { expiryOf } from './expiry.ts';
import type { KeyWords } from './kind.ts';
import { names } from './names.ts';
import { warnOfUnserved } from './unserved.ts';

interface Flags extends PlaceFlags {
  readonly secretName?: string;
  readonly keyStdin?: true;
  readonly displayName?: string;
  readonly models?: readonly string[];
  readonly nodeNamespaces?: readonly string[];
  readonly strict?: true;
  readonly expires?: string;
  readonly dryRun?: true;
}

/** `key create` and `masterkey create` */
export function addKeyCreate(...[group, context, words]: [...Parameters<AddCommand>, KeyWords]): void {
  const { noun, kind } = words;
  const command = group
    .command('create')
    .summary(`make a ${noun}, and print it once or put it into a Secret`)
    .description(`Makes a ${noun} and prints it, once: only its hash is kept.`)
    .argument('<name>', `name of the ${noun}`)
    .option('--secret-name <name>', 'put it into this Secret instead')
    .option('--key-stdin', 'take a key that was issued elsewhere, from stdin')
    .option('--display-name <text>', 'name for people')
    .option('--expires <when>', '90d, 24h, or a time such as 2027-01-31T00:00:00Z', (text) =>
      expiryOf(text, context.clock.wall()),
    )
    .option('--dry-run', 'print the manifest; store nothing')
    .action((name: string, flags: Flags) => createOne(context, words, name, flags));
  if (kind === 'APIKey') {
    command
      .option('--models <names>', 'models it may ask for: gpt-5,qwen3 (default: all)', names)
      .option('--node-namespaces <names>', 'namespaces whose nodes it may use besides', names)
      .option('--strict', 'refuse requests that a conversion would cut');
  }
  withPlace(command);
  const example = kind === 'APIKey' ? ' --models gpt-5,qwen3 --expires 90d' : ' --expires 90d';
  explained(command, {
    notes: ['Only the key goes to stdout, everything else to stderr: KEY=$(… create NAME).'],
    examples: [`${words.group} create ci${example}`, `${words.group} create app --secret-name app-key`],
  });
}

async function createOne(
  context: CommandContext,
  words: KeyWords,
  name: string,
  flags: Flags,
): Promise<void> {
  const { signal, out, err, calledAs } = context;
  const { secretName, dryRun = false } = flags;
  if (secretName !== undefined && flags.keyStdin === true) {
    throw usageError('--secret-name and --key-stdin exclude each other; leave one of them out.');
  }
  const place = await context.declarations(flags);
  const ref = namedRef(place, words, name);
  const key = secretName === undefined ? await keyText(context, words, flags) : undefined;
  const source = key === undefined ? { secretName } : { hash: hashKeyText(key), hint: keyHint(key) };
  const manifest = {
    kind: ref.kind,
    metadata: { name: ref.name, namespace: ref.namespace },
    spec: { ...source, ...wishes(flags) },
  };
  const { resource, manifest: text } = await place.create(manifest, { dryRun }, signal);
  if (dryRun) {
    out.write(`${text.trimEnd()}\n`);
    if (key !== undefined && flags.keyStdin !== true) {
      err.write(
        'Nothing was stored. The key of this manifest is not kept: the next call makes another one.\n',
      );
    }
    return;
  }
  await warnOfUnserved(context, place, flags, flags.models ?? []);
  const created = `${resourceName(resource)} created`;
  if (key === undefined) {
    out.write(`${created}\n`);
    err.write(
      `The controller puts the key into the Secret ${ref.namespace}/${secretName}, entry apiKey, in a moment; to see it: ${calledAs} ${words.group} reveal ${ref.name}\n`,
    );
    return;
  }
  if (flags.keyStdin === true) {
    out.write(`${created}\n`);
    return;
  }
  // Before the key: if the reader of stdout has ended, people still see this.
  err.write(
    `${created}. This is the only time that the key is shown; if it is lost: ${calledAs} ${words.group} revoke ${ref.name}\n`,
  );
  out.write(`${key}\n`);
}

/** A new key, or the one that was piped in. */
async function keyText(context: CommandContext, { kind }: KeyWords, flags: Flags): Promise<string> {
  const wanted = kind === 'APIKey' ? 'api' : 'master';
  if (flags.keyStdin !== true) return generateKeyText(wanted, randomBytes);
  const text = (await readAll(context.stdin)).trim();
  const verdict = checkKeyText(text);
  if (verdict === 'mistyped') {
    throw new CommandError(
      exitCodes.invalid,
      'stdin held a key of this gateway that is mistyped or incomplete; give the whole key.',
    );
  }
  if (verdict === 'impossible') {
    throw new CommandError(
      exitCodes.invalid,
      'stdin held no text that can be a key: a key has 24 to 512 visible ASCII characters.',
    );
  }
  const found = keyTextKind(text);
  if (verdict === 'ours' && found !== undefined && found !== wanted) {
    const is = found === 'api' ? 'a key' : 'a master key';
    throw new CommandError(exitCodes.invalid, `stdin held ${is}, which is not for a ${kind}.`);
  }
  return text;
}

function wishes({ displayName, models, nodeNamespaces, strict, expires }: Flags): Record<string, unknown> {
  return {
    ...(displayName === undefined ? {} : { displayName }),
    ...(models === undefined ? {} : { models }),
    ...(nodeNamespaces === undefined ? {} : { nodeNamespaces }),
    ...(strict === undefined ? {} : { conversion: 'Strict' }),
    ...(expires === undefined ? {} : { expirationTime: expires }),
  };
}
