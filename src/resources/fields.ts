import { z } from 'zod';
import { addIssue, type Checked } from './add-issue.ts';
import { type Rule, withRules } from './rules.ts';

/** A string of at most `max` Unicode characters, counted as the API server counts them (zod counts UTF-16 units). */
export function text(max: number, min = 0) {
  return z
    .string()
    .check((checked) => {
      const { value } = checked;
      const { length } = value;
      if (length < min) {
        addIssue(checked, { code: 'too_small', origin: 'string', minimum: min, inclusive: true });
      }
      if (length > max && [...value].length > max) {
        addIssue(checked, { code: 'too_big', origin: 'string', maximum: max, inclusive: true });
      }
    })
    .meta({ maxLength: max, ...(min > 0 ? { minLength: min } : {}) });
}

/**
 * A bounded string that matches `pattern`, which must mean the same in RE2 and JavaScript. It becomes a rule rather than the
 * schema's own `pattern`, because the API server would show people the bare expression.
 * @param message what the pattern requires, as a sentence that follows the field's name
 * @param remedy what to write instead
 */
export function patterned(max: number, pattern: RegExp, message: string, remedy: string) {
  const source = pattern.source.replaceAll('\\/', '/');
  const quote = source.includes("'") ? '"' : "'";
  const cel = `self.matches(r${quote}${source}${quote})`;
  return withRules(text(max), [{ cel, message, remedy, holds: (self) => pattern.test(self) }]);
}

/** A whole number from `min` to `max`. */
export function whole(min: number, max: number) {
  return z.int32().min(min).max(max).meta({ format: 'int32' });
}

/** A list whose entries differ. Two field managers can each own some of its entries. */
export function setOf<S extends z.ZodType<string>>(item: S, max: number, min = 0) {
  const list = z.array(item).max(max);
  return (min > 0 ? list.min(min) : list)
    .check((checked) => refuseRepeats(checked.value, checked, (index) => [index]))
    .meta({ 'x-kubernetes-list-type': 'set' });
}

/** A list of objects told apart by the field `key`. Two field managers can each own some of its entries. */
export function mapOf<S extends z.ZodObject>(item: S, key: keyof z.output<S> & string, max: number) {
  return z
    .array(item)
    .max(max)
    .check((checked) => {
      const names = checked.value.map((value) => JSON.stringify(value[key]));
      refuseRepeats(names, checked, (index) => [index, key]);
    })
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });
}

function refuseRepeats(
  values: readonly string[],
  checked: Checked<unknown>,
  place: (index: number) => PropertyKey[],
): void {
  if (new Set(values).size === values.length) return;
  const seen = new Set<string>();
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) {
      addIssue(checked, {
        code: 'custom',
        message: 'is in the list twice',
        path: place(index),
        params: { remedy: 'remove one of the two' },
      });
    }
    seen.add(value);
  }
}

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const dnsLabel = new RegExp(`^${label}$`);
const dnsSubdomain = new RegExp(`^${label}(\\.${label})*$`);
/** The name of an object of ours or of a Secret: a DNS-1123 subdomain. */
export function resourceName() {
  return patterned(
    253,
    dnsSubdomain,
    'must be a DNS-1123 name',
    'use lower-case letters, digits, "-" and ".", with a letter or digit at both ends',
  );
}

/** The name of a namespace: a DNS-1123 label. */
export function namespaceName() {
  return patterned(
    63,
    dnsLabel,
    'must be the name of a namespace',
    'use lower-case letters, digits and "-", with a letter or digit at both ends',
  );
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const control = /[\x00-\x1f\x7f]/;
const outerBlank = /^\p{White_Space}|\p{White_Space}$/u;

// Two simple rules rather than a pattern: the API server limits the cost of rules, and a node may have 32,000 aliases.
const lineRules: readonly Rule<string>[] = [
  {
    cel: "!self.matches('[[:cntrl:]]')",
    message: 'must not hold control characters',
    remedy: 'write it on one line, without tabs',
    holds: (self) => !control.test(self),
  },
  {
    cel: 'self.trim() == self',
    message: 'must not begin or end with a blank',
    remedy: 'remove the blanks, which nobody sees',
    holds: (self) => !outerBlank.test(self),
  },
];

/** One line of text for people. */
export function line(max: number) {
  return withRules(text(max, 1), lineRules);
}

const notReserved: Rule<string> = {
  cel: "self != '*'",
  message: 'must not be "*", which is reserved',
  remedy: 'write the name of a model; to mean every model, leave the list out',
  holds: (self) => self !== '*',
};

/** Longest model name in characters. Names that are file paths (llama.cpp) fit. */
export const maxModelName = 512;

/** A model's name, as callers and nodes write it: case-sensitive. */
export function modelName() {
  return withRules(text(maxModelName, 1), [...lineRules, notReserved]);
}

/** Another name for a model, for callers. Shorter than a model name, because the cost of the rules grows with the length. */
export function modelAlias() {
  return withRules(text(256, 1), [...lineRules, notReserved]);
}

/** The name of an entry of a Secret's `data`. */
export function secretEntryKey() {
  return patterned(
    253,
    /^[-._a-zA-Z0-9]+$/,
    'must be the name of an entry of a Secret',
    'use letters, digits, "-", "_" and "."; the credential itself goes into the Secret',
  );
}

const rfc3339 =
  /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$/;

/**
 * A point in time in RFC 3339 format. The pattern is the schema's own, because rules get a time and not its text, and `format`
 * alone accepts values that JavaScript cannot parse.
 */
export function dateTime() {
  return text(40)
    .check((checked) => {
      const { value, issues } = checked;
      if (issues.length > 0 || (rfc3339.test(value) && isOnCalendar(value))) return;
      const message = rfc3339.test(value) ? 'must be a day of the calendar' : 'must be a time';
      addIssue(checked, {
        code: 'custom',
        message,
        params: { remedy: 'write it like 2027-01-31T00:00:00Z' },
      });
    })
    .meta({ format: 'date-time', pattern: rfc3339.source });
}

// Date.parse reads 30 February as 2 March; the API server refuses it.
function isOnCalendar(time: string): boolean {
  const day = Number(time.slice(8, 10));
  if (day <= 28) return true;
  const [year, month] = [Number(time.slice(0, 4)), Number(time.slice(5, 7))];
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}
