/** What is wrong with one field of a document. Safe to show: it never holds what may be a credential. */
export type Problem = {
  /** The field, such as `spec.models[2].name`; empty for the document itself. */
  readonly path: string;
  /** The value found, short and printable; absent where it is missing or may be secret. */
  readonly value?: string;
  /** What is wrong, as a sentence that follows the field's name. */
  readonly reason: string;
  /** What to do about it. */
  readonly remedy: string;
};

/** A place in a document: names of members and indexes of entries. */
export type Path = readonly PropertyKey[];

/** Formats a place: `spec.models[2].name`, `metadata.labels["example.com/team"]`. */
export function fieldPath(path: Path): string {
  return path
    .map((part, depth) => {
      if (typeof part === 'number') return `[${part}]`;
      const name = String(part);
      if (!/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)) return `[${JSON.stringify(name.slice(0, 64))}]`;
      return depth === 0 ? name : `.${name}`;
    })
    .join('');
}

/** Formats a problem on one line: `spec.priority: 101 must be at most 100; lower it`. */
export function problemLine(problem: Problem): string {
  const { path, value, reason, remedy } = problem;
  const found = value === undefined ? '' : `${value} `;
  return `${path === '' ? '' : `${path}: `}${found}${reason}; ${remedy}`;
}

// Fields that hold a credential, or into which people paste one by mistake.
const secretFields = new Set([
  'encryptedAPIKey',
  'value',
  'hash',
  'hint',
  'key',
  'data',
  'stringData',
  'annotations',
]);

/** Length of the shortest key of any vendor, in characters. */
const shortestKey = 20;

/** A value as a problem may show it: short, on one line; undefined if it may be secret or is not a scalar. */
export function printable(path: Path, value: unknown): string | undefined {
  if (path.some((part) => typeof part === 'string' && secretFields.has(part))) return undefined;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return undefined;
  // People paste the key into the field for the name of its Secret.
  const namesSecret = path.some((part) => typeof part === 'string' && /secret(?:Ref|Name)$/i.test(part));
  if (namesSecret && value.length >= shortestKey) return undefined;
  // A base URL may hold a password or a token.
  if (path.at(-1) === 'baseURL' && /[@?#]/.test(value)) return undefined;
  return JSON.stringify(value.length > 64 ? `${value.slice(0, 61)}...` : value);
}
