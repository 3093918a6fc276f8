import { isDeepStrictEqual } from 'node:util';
import { documentValue, editYaml } from '../edit/edit-yaml.ts';
import { UneditableError } from '../edit/yaml-source.ts';
import type { CredentialPlace, Settings, SettingsFile } from './agent-settings.ts';

/**
 * The text of a settings file with our settings in it; everything else stays as it is. `before` is undefined if there is no file.
 * Throws UneditableError if something of the file could be lost.
 */
export function mergedText(before: string | undefined, file: SettingsFile): string {
  if (file.format === 'text') return replacedText(before, file.text);
  const { settings, ifAbsent = {} } = file;
  if (before === undefined || before.trim() === '') return newText(file.format, merged(ifAbsent, settings));
  if (file.format === 'json') refuseUnlessJson(before);
  const value = documentValue(before, 0) ?? {};
  const after = editYaml(before, 0, merged(merged(value, ifAbsent, true), settings));
  if (file.format === 'json' && after !== before) refuseOtherNumbers(before);
  return after;
}

/** The path of the first credential of the file that the agent would send to the gateway in place of the key; undefined if none. */
export function foreignCredential(before: string | undefined, file: SettingsFile): string | undefined {
  if (before === undefined || before.trim() === '' || file.format === 'text') return undefined;
  const value = documentValue(before, 0);
  for (const place of file.credentials ?? []) {
    const found = credentialAt(value, place, file.settings);
    if (found !== undefined) return found;
  }
  return undefined;
}

function credentialAt(value: unknown, { path, names }: CredentialPlace, ours: Settings): string | undefined {
  const member = at(value, path);
  if (names === undefined) {
    return member === undefined || isDeepStrictEqual(member, at(ours, path)) ? undefined : path.join('.');
  }
  const found = namesIn(member).find((name) => names.includes(name));
  return found === undefined ? undefined : [...path, found].join('.');
}

/** The names that an object, lines of `name: value`, or a list of `name=value` give values to, in lower case. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (isMap(value)) return Object.keys(value).map((name) => name.trim().toLowerCase());
  if (typeof value !== 'string') return [];
  return value.split(/[\r\n]/).map((line) => (line.split(/[:=]/, 1)[0] ?? '').trim().toLowerCase());
}

/** A file that holds only lines such as ours may be replaced: nothing of anybody else is in it. */
function replacedText(before: string | undefined, text: string): string {
  if (before === undefined || before.trim() === '') return text;
  const known = new Set(text.split(/\r?\n/).map(head));
  const foreign = before.split(/\r?\n/).find((line) => line.trim() !== '' && !known.has(head(line)));
  if (foreign === undefined) return text;
  throw new UneditableError(
    `it has a line that this command does not write (${JSON.stringify(head(foreign).slice(0, 60))})`,
  );
}

/** What a line of TOML sets. */
function head(line: string): string {
  return line.split('=', 1)[0]?.trim() ?? '';
}

function newText(format: 'json' | 'yaml', value: Settings): string {
  return format === 'json'
    ? `${JSON.stringify(value, null, 2)}\n`
    : Object.entries(value)
        .map(([name, member]) => `${name}: ${JSON.stringify(member)}\n`)
        .join('');
}

function refuseUnlessJson(text: string): void {
  try {
    JSON.parse(withoutMark(text));
  } catch {
    throw new UneditableError('it is not plain JSON (comments?)');
  }
}

/** Refuses JSON with a number that would be written in another way, and maybe with another value: 9007199254740993, 1.0. */
function refuseOtherNumbers(text: string): void {
  JSON.parse(withoutMark(text), (_name: string, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value === 'number' && context?.source !== undefined && context.source !== String(value)) {
      throw new UneditableError(`its number ${context.source.slice(0, 40)} would be written as ${value}`);
    }
    return value;
  });
}

function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

/** `base` with the members of `over`; with `keeps` only with those that it lacks. */
function merged(base: unknown, over: Settings, keeps = false): Settings {
  if (!isMap(base)) throw new UneditableError('a member that holds settings is no object in it');
  const entries = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(over)) {
    const old = entries.get(name);
    if (typeof value === 'object') entries.set(name, merged(old ?? {}, value, keeps));
    else if (old === undefined || (!keeps && !isDeepStrictEqual(old, value))) entries.set(name, value);
  }
  return Object.fromEntries(entries);
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (member, name) => (isMap(member) && Object.hasOwn(member, name) ? member[name] : undefined),
    value,
  );
}

function isMap(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
