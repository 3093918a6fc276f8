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

/** A bounded string that matches `pattern` (RE2 and JavaScript read it alike); `must` says in words what it asks. */
export function patterned(max: number, pattern: RegExp, must: string, min = 0) {
  return text(max, min)
    .regex(pattern, { error: must })
    .meta({ maxLength: max, ...(min > 0 ? { minLength: min } : {}) });
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
    'must be a DNS-1123 name: lower-case letters, digits, "-" and ".", starting and ending with a letter or digit',
    1,
  );
}

/** The name of a namespace: a DNS-1123 label. */
export function namespaceName() {
  return patterned(
    63,
    dnsLabel,
    'must be a namespace name: lower-case letters, digits and "-", starting and ending with a letter or digit',
    1,
  );
}

/** One line of text for people. */
export function line(max: number) {
  return patterned(max, oneLine, 'must be one line without control characters or blanks at its ends', 1);
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

/** An entry of a Secret's `data`. */
export function secretEntryKey() {
  return patterned(
    253,
    /^[-._a-zA-Z0-9]+$/,
    'must be an entry of a Secret: letters, digits, "-", "_" and "."',
    1,
  );
}

/** A point in time as RFC 3339 writes it. */
export function dateTime() {
  return patterned(
    40,
    /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$/,
    'must be a time such as 2027-01-31T00:00:00Z',
  )
    .refine((value) => !Number.isNaN(Date.parse(value)), { error: 'must be a time that the calendar has' })
    .meta({ format: 'date-time', maxLength: 40 });
}
