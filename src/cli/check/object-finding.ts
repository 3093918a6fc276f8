import type { CheckedObject } from './documents.ts';
import { type Finding, finding } from './finding.ts';
import type { RuleId } from './rules.ts';

/** A finding about a field of an object. An empty `field` means the object itself. */
export function objectFinding(
  rule: RuleId,
  object: CheckedObject,
  field: string,
  message: string,
  remedy: string,
): Finding {
  return finding(rule, {
    file: object.file,
    ...object.place(field),
    object: object.id,
    field,
    message,
    remedy,
  });
}
