import { type Level, type RuleId, rules } from './rules.ts';

/** Something that a person should look at, with its place. Never holds a credential. */
export interface Finding {
  readonly rule: RuleId;
  readonly level: Level;
  /** The path as it was given, with `/`, and the path below it; `<stdin>` for stdin. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  /** `Kind/namespace/name`; undefined if the document does not say it. */
  readonly object: string | undefined;
  /** Such as `spec.models[2].name`; empty for the document itself. */
  readonly field: string;
  /** What is wrong, in a clause. */
  readonly message: string;
  /** What to do about it, in a clause. */
  readonly remedy: string;
}

/** A finding with the level of its rule. Texts that look like keys are masked. */
export function finding(rule: RuleId, rest: Omit<Finding, 'rule' | 'level'>): Finding {
  return {
    rule,
    level: rules[rule].level,
    ...rest,
    object: rest.object && masked(rest.object),
    field: masked(rest.field),
    message: masked(rest.message),
    remedy: masked(rest.remedy),
  };
}

/**
 * Texts that look like keys of well-known vendors, of this gateway or of age. Documentation often contains such prefixes,
 * so the rest must look random.
 */
const keyTexts =
  /(?:sk-[A-Za-z0-9_-]{20,}|mg[km]_[0-9A-Za-z]{49}|AGE-SECRET-KEY-1[0-9A-Z]{50,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{35}|AKIA[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{30,})/g;

/** Where texts that look like keys begin. The end of a longer word, such as `risk-…`, does not count. */
export function keyTextOffsets(text: string): number[] {
  return [...text.matchAll(keyTexts)]
    .filter(({ 0: found, index }) => looksRandom(found) && !/[A-Za-z0-9]/.test(text.charAt(index - 1)))
    .map(({ index }) => index);
}

/** Hides what may be a key, even within a word, because a key may have been pasted into one. */
function masked(text: string): string {
  return text.replaceAll(keyTexts, (found) => (looksRandom(found) ? '***' : found));
}

/** False for placeholders such as `sk-your-key-goes-here-please` and `sk-xxxxxxxxxxxxxxxxxxxx`. */
function looksRandom(text: string): boolean {
  const secret = text.replace(/^[a-zA-Z]+[-_]/, '');
  return /[0-9]/.test(secret) && new Set(secret).size >= 10;
}
