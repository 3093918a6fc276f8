import { LineCounter, parseDocument } from 'yaml';
import { isObject } from '../../resources/is-object.ts';
import { pathText } from './apply-edits.ts';
import { DeclarationError } from './declarations.ts';
import { type Difference, differences, isNamedList } from './difference.ts';
import type { Edit } from './edit.ts';

type Members = Record<string, unknown>;

/**
 * The edits that lead from one manifest to another, which somebody wrote in an editor. Throws DeclarationError `Invalid`
 * if the text is not YAML, or changes what identifies the resource.
 */
export function manifestDiff(before: string, after: string): Edit[] {
  return differences(read(before), read(after)).flatMap(editsOf);
}

/** An edit for a difference. The entries of a new list are added one by one, so that each is owned by itself. */
function editsOf({ path, after }: Difference): Edit[] {
  const [top, second] = path;
  const isBody = top === 'spec' || (top === 'metadata' && (second === 'labels' || second === 'annotations'));
  if (!isBody) throw refused(pathText(path));
  if (after === undefined) return [{ path, remove: true }];
  if (!isNamedList(after) || after.length === 0) return [{ path, value: after }];
  return after.map((entry) => ({ path: [...path, { name: entry.name }], value: entry }));
}

/** What a manifest says, without its status; labels, annotations and spec are objects. */
function read(text: string): Members {
  const lines = new LineCounter();
  const document = parseDocument(text, { stringKeys: true, prettyErrors: false, lineCounter: lines });
  const [error] = document.errors;
  if (error !== undefined) {
    // The message does not use the parser's own, which quotes the text and may so show a credential.
    const { line } = lines.linePos(error.pos[0]);
    throw new DeclarationError(
      'Invalid',
      `The manifest is not YAML at line ${line} (${error.code.toLowerCase().replaceAll('_', ' ')}); correct it there.`,
    );
  }
  const { status: _, spec, ...whole } = membersOf(document.toJS({ maxAliasCount: 100 }), '');
  const { labels, annotations, ...metadata } = membersOf(whole['metadata'], 'metadata');
  return {
    ...whole,
    metadata: {
      ...metadata,
      labels: membersOf(labels, 'metadata.labels'),
      annotations: membersOf(annotations, 'metadata.annotations'),
    },
    spec: membersOf(spec, 'spec'),
  };
}

function membersOf(value: unknown, field: string): Members {
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  const message = 'must be an object; write its fields below it';
  throw new DeclarationError('Invalid', `${field === '' ? 'The manifest' : field} ${message}.`, [
    { field, message },
  ]);
}

function refused(field: string): DeclarationError {
  const message = 'cannot be changed by an edit; create another resource, and delete this one';
  return new DeclarationError('Invalid', `${field} ${message}.`, [{ field, message }]);
}
