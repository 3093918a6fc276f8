import type { z } from 'zod';
import { addIssue } from './add-issue.ts';

/**
 * A rule about more than one field, or one that a JSON schema cannot express readably. It is declared once and used
 * twice: `cel` in the CRD, by the API server; `holds` in our own parser, for standalone mode and for gateways that
 * read an old object. `test/crds` runs the same manifests through both, so that a difference fails a test.
 */
export type Rule<T> = {
  readonly cel: string;
  /** The rule, as a sentence that follows the field's name: "must …". Shown by the API server and by our parser. */
  readonly message: string;
  /** What to do about it; shown only by our own parser, because the API server has no field for it. */
  readonly remedy: string;
  /** The field that the problem names, below the place of the rule. Absent: the place itself. */
  readonly field?: string;
  readonly holds: (self: T) => boolean;
};

/** A rule about a change: checked only when an existing object is replaced by a newer one. */
export type ChangeRule<T> = Omit<Rule<T>, 'holds'> & { readonly holds: (self: T, old: T) => boolean };

/**
 * Adds rules to a schema: as refinements for parsing and as `x-kubernetes-validations` for the CRD.
 * Change rules are only in the CRD; elsewhere `changeProblems` checks them.
 */
export function withRules<S extends z.ZodType>(
  schema: S,
  rules: readonly Rule<z.output<S>>[],
  changeRules: readonly ChangeRule<z.output<S>>[] = [],
): S {
  const refined = schema.check((checked) => {
    const self = checked.value as z.output<S>;
    // Text beyond its bound is not matched: an expression may take time that grows with the square of its length.
    if (typeof self === 'string' && checked.issues.length > 0) return;
    for (const rule of rules) {
      if (rule.holds(self)) continue;
      addIssue(checked, {
        code: 'custom',
        message: rule.message,
        path: rule.field === undefined ? [] : [rule.field],
        params: { remedy: rule.remedy },
      });
    }
  });
  const meta = schema.meta() ?? {};
  const earlier = meta['x-kubernetes-validations'];
  const validations = [...(Array.isArray(earlier) ? earlier : []), ...written([...rules, ...changeRules])];
  return refined.meta({ ...meta, 'x-kubernetes-validations': validations });
}

function written(rules: readonly Pick<Rule<never>, 'cel' | 'message' | 'field'>[]) {
  return rules.map(({ cel, message, field }) => ({
    rule: cel,
    message,
    ...(field === undefined ? {} : { fieldPath: `.${field}` }),
  }));
}
