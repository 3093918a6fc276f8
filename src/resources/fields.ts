import { z } from 'zod';
import { type Rule, withRules } from './rules.ts';

/** A string of at most `max` Unicode characters, counted as the API server counts them (zod counts UTF-16 units). */
export function text(max: number, min = 0) {
  return z
    .string()
    .superRefine((value, context) => {
      const { length } = value;
      if (length < min) {
        context.addIssue({
          code: 'too_small',
          origin: 'string',
          minimum: min,
          inclusive: true,
          input: value,
        });
      }
      if (length > max && [...value].length > max) {
        context.addIssue({ code: 'too_big', origin: 'string', maximum: max, inclusive: true, input: value });
      }
    })
    .meta({ maxLength: max, ...(min > 0 ? { minLength: min } : {}) });
}

/**
 * A bounded string that matches `pattern`, which RE2 and JavaScript must read alike.
 * @param must what the pattern asks, as a sentence that follows the field's name
 * @param remedy what to write instead
 */
export function patterned(max: number, pattern: RegExp, must: string, remedy: string, min = 0) {
  return text(max, min)
    .superRefine((value, context) => {
      if (pattern.test(value)) return;
      context.addIssue({ code: 'custom', message: must, params: { remedy } });
    })
    .meta({ pattern: pattern.source.replaceAll('\\/', '/') });
}

/** A whole number from `min` to `max`. */
export function whole(min: number, max: number) {
  return z.int32().min(min).max(max).meta({ format: 'int32' });
}

/** A list whose entries differ. Two field managers can each own some of its entries. */
export function setOf<S extends z.ZodType<string>>(item: S, max: number, min = 0) {
  const list = z.array(item).max(max);
  return (min > 0 ? list.min(min) : list)
    .superRefine((values, context) => refuseRepeats(values, context, (index) => [index]))
    .meta({ 'x-kubernetes-list-type': 'set' });
}

/** A list of objects told apart by the field `key`. Two field managers can each own some of its entries. */
export function mapOf<S extends z.ZodObject>(item: S, key: keyof z.output<S> & string, max: number) {
  return z
    .array(item)
    .max(max)
    .superRefine((values, context) => {
      const names = values.map((value) => String(value[key]));
      refuseRepeats(names, context, (index) => [index, key]);
    })
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });
}

function refuseRepeats(
  values: readonly string[],
  context: z.RefinementCtx,
  place: (index: number) => PropertyKey[],
): void {
  if (new Set(values).size === values.length) return;
  const seen = new Set<string>();
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) {
      context.addIssue({
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
// No control characters (they would break logs and headers) and no blanks at the ends (nobody sees them).
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the purpose
const oneLine = /^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$/;

/** The name of an object of ours or of a Secret: a DNS-1123 subdomain. */
export function resourceName() {
  return patterned(
    253,
    dnsSubdomain,
    'must be a DNS-1123 name',
    'use lower-case letters, digits, "-" and ".", with a letter or digit at both ends',
    1,
  );
}

/** The name of a namespace: a DNS-1123 label. */
export function namespaceName() {
  return patterned(
    63,
    dnsLabel,
    'must be the name of a namespace',
    'use lower-case letters, digits and "-", with a letter or digit at both ends',
    1,
  );
}

/** One line of text for people. */
export function line(max: number) {
  return patterned(
    max,
    oneLine,
    'must be one line without control characters or blanks at its ends',
    'remove line breaks, tabs and outer blanks',
    1,
  );
}

const notReserved: Rule<string> = {
  cel: "self != '*'",
  message: 'must not be "*", which is reserved',
  remedy: 'write the name of a model; to mean every model, leave the list out',
  holds: (self) => self !== '*',
};

/** Longest model name or alias in characters. Names that are file paths (llama.cpp) fit. */
export const maxModelName = 512;

/** A model's name or alias, as callers and nodes write it: case-sensitive. */
export function modelName() {
  return withRules(line(maxModelName), [notReserved]);
}

/** The name of an entry of a Secret's `data`. */
export function secretEntryKey() {
  return patterned(
    253,
    /^[-._a-zA-Z0-9]+$/,
    'must be the name of an entry of a Secret',
    'use letters, digits, "-", "_" and "."; the credential itself goes into the Secret',
    1,
  );
}

const rfc3339 =
  /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$/;

/** A point in time as RFC 3339 writes it. */
export function dateTime() {
  return patterned(40, rfc3339, 'must be a time', 'write it like 2027-01-31T00:00:00Z')
    .superRefine((value, context) => {
      if (isOnCalendar(value)) return;
      const params = { remedy: 'correct the day' };
      context.addIssue({ code: 'custom', message: 'must be a day of the calendar', params });
    })
    .meta({ format: 'date-time' });
}

// Date.parse takes 30 February for 2 March; the API server refuses it.
function isOnCalendar(time: string): boolean {
  const [year = 0, month = 0, day = 0] = time.slice(0, 10).split('-').map(Number);
  return !rfc3339.test(time) || day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}
