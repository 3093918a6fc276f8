import { own, type Window, windowOf } from './listed-window.ts';

/** The longest model name that is accepted, in characters. */
const maxNameLength = 512;

/** The parsed listing. */
export type ReadListing =
  | {
      readonly kind: 'names';
      readonly names: string[];
      /** The windows that the entries tell, by name. */
      readonly windows: ReadonlyMap<string, Window>;
      /** Where the next page begins, if the node says that there is one. */
      readonly after?: string;
      /** How many entries were left out because their name cannot be used. */
      readonly skipped: number;
      /** More than `maxModels` were listed; the rest is left out. */
      readonly truncated: boolean;
    }
  | { readonly kind: 'invalid'; readonly message: string };

/**
 * Reads the body of `GET /models`: `{data: [{id}]}` (OpenAI, Anthropic), `{models: [{id | name}]}`, or a bare
 * list of such objects or of strings. Repeated names count once. Names that a manifest may not hold (empty,
 * `*`, over 512 characters, with control characters or blanks at their ends) are left out and counted, so that
 * one odd entry does not fail the sync.
 */
export function readModelNames(body: Uint8Array, maxModels: number): ReadListing {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    if (error instanceof SyntaxError) return invalid('the model list is not JSON');
    return invalid('the model list is not UTF-8 text');
  }
  const entries = entriesOf(value);
  if (entries === undefined) {
    return invalid(
      'the answer is JSON but no model list: neither a list nor an object with "data" or "models"',
    );
  }
  const names = new Set<string>();
  const windows = new Map<string, Window>();
  let skipped = 0;
  let truncated = false;
  for (const entry of entries) {
    const name = nameOf(entry);
    if (name === undefined) {
      skipped += 1;
      continue;
    }
    if (names.has(name)) continue;
    if (names.size === maxModels) {
      truncated = true;
      break;
    }
    names.add(name);
    const window = windowOf(entry);
    if (window !== undefined) windows.set(name, window);
  }
  if (names.size === 0 && skipped > 0)
    return invalid('no entry of the model list has a usable "id" or "name"');
  const after = nextPage(value);
  return {
    kind: 'names',
    names: [...names],
    windows,
    skipped,
    truncated,
    ...(after === undefined ? {} : { after }),
  };
}

function invalid(message: string): ReadListing {
  return { kind: 'invalid', message };
}

function entriesOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  for (const member of ['data', 'models']) {
    const list = own(value, member);
    if (Array.isArray(list)) return list;
  }
  return undefined;
}

function nameOf(entry: unknown): string | undefined {
  for (const name of [entry, own(entry, 'id'), own(entry, 'name')]) {
    if (typeof name === 'string' && isUsable(name)) return name;
  }
  return undefined;
}

function isUsable(name: string): boolean {
  return name.length <= maxNameLength && name !== '*' && name.isWellFormed() && oneLine.test(name);
}

// The names that a manifest may hold.
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the purpose
const oneLine = /^[^\x00-\x20\x7f](?:[^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$/;

/** Anthropic lists 20 models at a time, with `has_more` and the `last_id` after which the next page begins. */
function nextPage(value: unknown): string | undefined {
  const last = own(value, 'last_id');
  return own(value, 'has_more') === true && typeof last === 'string' && isUsable(last) ? last : undefined;
}
