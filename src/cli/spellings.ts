import { placeFlags } from './place-flags.ts';

/** Names of our kinds in kubectl, with the words of our commands. */
const kinds: ReadonlyMap<string, string> = new Map(
  [
    ['node', 'node', 'nodes', 'upstreamnode', 'upstreamnodes', 'upnode'],
    ['key', 'key', 'keys', 'apikey', 'apikeys', 'apik'],
    ['masterkey', 'masterkey', 'masterkeys'],
    ['model', 'model', 'models'],
  ].flatMap(([ours = '', ...theirs]) => theirs.map((name) => [name, ours] as const)),
);

/** The flags that may come before a command, and whether a value follows. */
const leading: ReadonlyMap<string, boolean> = new Map(
  placeFlags.flatMap(([flags]) => {
    const hasValue = / [A-Z]+$/.test(flags);
    return flags
      .replace(/ [A-Z]+$/, '')
      .split(', ')
      .map((flag) => [flag, hasValue] as const);
  }),
);

/**
 * Turns arguments in the style of kubectl into those that our commands take: `-n NS nodes`, `node list`,
 * `get nodes`, `get node NAME`, `nodes NAME`, `--dry-run=client -o yaml`, `-v`.
 */
export function ourSpelling(args: readonly string[]): readonly string[] {
  if (args.length === 1 && args[0] === '-v') return ['--version'];
  const moved = flagsBehind(args);
  // Completion and help take words that are not run.
  if (moved[0] === '__complete' || moved[0] === 'help') return moved;
  return ourDryRun(ourCommand(moved));
}

function flagsBehind(args: readonly string[]): readonly string[] {
  let at = 0;
  while (at < args.length) {
    const width = widthOf(args[at] ?? '');
    if (width === 0) break;
    at += width;
  }
  // Without a command these are flags of the quick start.
  if (at === 0 || at >= args.length || args[at]?.startsWith('-') === true) return args;
  const rest = args.slice(at);
  const end = rest.indexOf('--');
  return end === -1
    ? [...rest, ...args.slice(0, at)]
    : [...rest.slice(0, end), ...args.slice(0, at), ...rest.slice(end)];
}

/** The number of arguments that a flag of `leading` takes, itself included; 0 for another argument. */
function widthOf(arg: string): number {
  const name = arg.startsWith('--') ? (arg.split('=', 1)[0] ?? arg) : arg.slice(0, 2);
  const hasValue = leading.get(name);
  if (hasValue === undefined) return 0;
  return hasValue && name === arg ? 2 : 1;
}

function ourCommand([first = '', second = '', ...rest]: readonly string[]): readonly string[] {
  const args = [first, second, ...rest].filter((arg, at) => at > 1 || arg !== '');
  const isWord = (arg: string | undefined): arg is string =>
    arg !== undefined && arg !== '' && !arg.startsWith('-');
  if (first === 'get' || first === 'describe') {
    const kind = kinds.get(second.toLowerCase());
    if (kind === undefined) return args;
    return isWord(rest[0]) ? [kind, 'show', ...rest] : [`${kind}s`, ...rest];
  }
  if (second === 'list' || second === 'ls') {
    const kind = kinds.get(first);
    if (kind !== undefined) return [`${kind}s`, ...rest];
  }
  const kind = first.endsWith('s') ? kinds.get(first) : undefined;
  return kind !== undefined && isWord(second) ? [kind, 'show', second, ...rest] : args;
}

/** Both of kubectl's dry runs store nothing. Ours also prints the manifest of a new resource, without `-o yaml`. */
function ourDryRun(args: readonly string[]): readonly string[] {
  const isDry = args.some((arg) => /^--dry-run(?:=(?:client|server))?$/.test(arg));
  const prints = isDry && ['add', 'create'].includes(args[1] ?? '');
  return args.flatMap((arg, at) => {
    if (/^--dry-run=(?:client|server)$/.test(arg)) return ['--dry-run'];
    if (arg === '--dry-run=none') return [];
    if (
      prints &&
      (/^(?:-o=?|--output=)yaml$/.test(arg) || (/^(?:-o|--output)$/.test(arg) && args[at + 1] === 'yaml'))
    )
      return [];
    return prints && arg === 'yaml' && /^(?:-o|--output)$/.test(args[at - 1] ?? '') ? [] : [arg];
  });
}
