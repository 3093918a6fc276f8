const begin = ',"managedFields":[{';
/** Members are sorted by name. `name` follows `managedFields`, and every object has it. */
const end = '}],"name":"';

/**
 * Cuts `metadata.managedFields` out of a custom resource's JSON text, because parsing them costs time and memory: they are two
 * fifths of a small object. Returns undefined if they are not at the place where the API server writes them; the caller then
 * parses the whole text.
 *
 * `begin` and `end` cannot occur inside a string, where every quote has a backslash before it, and `fieldsV1` holds no lists.
 * If `fieldsV1` held lists, the cut would leave brackets behind, and the rest would not parse as JSON.
 */
export function cutManagedFields(json: string): string | undefined {
  const from = json.indexOf(begin);
  if (from === -1) return undefined;
  const metadata = json.indexOf('"metadata":{');
  const spec = json.indexOf('"spec":');
  if (metadata === -1 || metadata > from || (spec !== -1 && spec < from)) return undefined;
  const to = json.indexOf(end, from);
  return to === -1 ? undefined : json.slice(0, from) + json.slice(to + 2);
}
