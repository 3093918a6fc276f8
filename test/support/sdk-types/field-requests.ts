import type { Alternative, TypeGraph } from './type-graph.ts';
import { literalsOf, shapeOf } from './type-graphs.ts';

/** A text that nothing else in a request holds; it is also an identifier, a name and base64. */
export const mark = 'mk000481';
/** Numbers that nothing else in a request holds; most fields take one of them. */
const markNumbers = [7341, 0.734375, 7] as const;

type Fields = Readonly<Record<string, unknown>>;

/** A request in which one field has one value. */
export interface FieldRequest {
  /** The type and member that it tries, with the value where it is a literal: `TextBlockParam.citations`. */
  readonly member: string;
  /** The same as a path without indexes: `messages[].content[].citations`. */
  readonly path: string;
  readonly value: unknown;
  readonly body: Fields;
  /** The same request without the field or, where it is required, with another value. */
  readonly without: Fields;
}

/** What a request is completed with, of which the field at `path` makes sense only beside others; undefined: nothing. */
export type Around = (body: Fields, path: string) => Fields | undefined;

/** What requests of a format look like around the field that is tried. */
export interface RequestFrame {
  /** What a request needs at least. */
  readonly basis: Fields;
  readonly arounds: readonly Around[];
  /** What objects need besides what their types require, by the name of their type, and by their `type` or `role`. */
  readonly needs: Readonly<Record<string, Fields>>;
}

/** Puts a value into a request, or leaves it out where it is undefined. */
type Put = (value: unknown) => Fields;

interface Place {
  readonly path: string;
  readonly put: Put;
  /** The types on the way, so that types that hold themselves end. */
  readonly within: readonly string[];
}

type Member = readonly [key: string, alternatives: readonly Alternative[]];

const deepest = 9;

/**
 * Requests made from the types of a request: each member of each type, at each place that it can stand, with each of
 * its alternatives, one at a time.
 */
export function* fieldRequests(
  graph: TypeGraph,
  root: string,
  { basis, arounds, needs }: RequestFrame,
): Generator<FieldRequest> {
  const walker = new Walker(graph, arounds, needs);
  const place: Place = { path: '', put: (value) => value as Fields, within: [] };
  const known = new Set<string>();
  for (const alternative of graph.roots[root] ?? []) {
    if (typeof alternative !== 'object' || !('type' in alternative)) throw new Error(`${root} is no object`);
    // The types of a streamed request and of one that is not differ in one member.
    const members = Object.entries(shapeOf(graph, alternative.type)).filter(([name, alternatives]) => {
      const text = `${name} ${JSON.stringify(alternatives)}`;
      return known.size < known.add(text).size;
    });
    yield* walker.members(alternative.type, members, basis, place);
  }
}

class Walker {
  readonly #graph: TypeGraph;
  readonly #arounds: readonly Around[];
  readonly #needs: RequestFrame['needs'];

  constructor(graph: TypeGraph, arounds: readonly Around[], needs: RequestFrame['needs']) {
    this.#graph = graph;
    this.#arounds = arounds;
    this.#needs = needs;
  }

  *members(type: string, members: readonly Member[], basis: Fields, place: Place): Generator<FieldRequest> {
    const within = [...place.within, type];
    for (const [key, alternatives] of members) {
      const name = memberName(key);
      const own: Place = {
        path: place.path === '' ? name : `${place.path}.${name}`,
        put: (value) => place.put(value === undefined ? without(basis, name) : { ...basis, [name]: value }),
        within,
      };
      const member = `${type.replace(/~\d+$/, '')}.${name}`;
      if (isTag(name, alternatives)) continue;
      const optional = key.endsWith('?') || name === 'extra';
      // Where any text is allowed the literals are examples: `model` has dozens.
      const anyText = alternatives.includes('string');
      for (const alternative of alternatives)
        if (!anyText || !isLiteral(alternative))
          yield* this.#alternative(alternative, member, name, own, optional);
    }
  }

  *#alternative(
    alternative: Alternative,
    member: string,
    name: string,
    place: Place,
    optional: boolean,
  ): Generator<FieldRequest> {
    if (typeof alternative === 'object' && 'type' in alternative) {
      yield* this.#object(alternative.type, member, place, optional);
      return;
    }
    if (typeof alternative === 'object' && ('list' in alternative || 'record' in alternative)) {
      const inList = 'list' in alternative;
      const wrap = (value: unknown) => (value === undefined ? undefined : inList ? [value] : { a: value });
      const inner: Place = {
        ...place,
        path: inList ? `${place.path}[]` : `${place.path}.a`,
        put: (value) => place.put(wrap(value)),
      };
      for (const element of inList ? alternative.list : alternative.record)
        yield* this.#alternative(element, `${member}${inList ? '[]' : '.*'}`, name, inner, true);
      return;
    }
    for (const value of this.#values(alternative, name)) {
      const label =
        typeof value === 'boolean' || isLiteral(alternative) ? `${member}=${String(value)}` : member;
      const other = optional ? undefined : otherThan(value, alternative, name);
      yield* this.#pairs({
        member: label,
        path: place.path,
        value,
        body: place.put(value),
        without: place.put(other),
      });
    }
  }

  *#object(type: string, member: string, place: Place, optional: boolean): Generator<FieldRequest> {
    if (place.within.includes(type) || place.within.length > deepest) return;
    for (const basis of this.least(type)) {
      const tag = tagOf(basis);
      const label = tag === '' ? member : `${member}<${tag}>`;
      const pair = { body: place.put(basis), without: place.put(undefined) };
      if (optional) yield* this.#pairs({ member: label, path: place.path, value: basis, ...pair });
      yield* this.members(type, Object.entries(shapeOf(this.#graph, type)), basis, place);
    }
  }

  *#pairs(request: FieldRequest): Generator<FieldRequest> {
    for (const around of this.#arounds) {
      const body = around(request.body, request.path);
      const without = around(request.without, request.path);
      if (body !== undefined && without !== undefined) yield { ...request, body, without };
    }
  }

  /** The least objects of a type: one for each of its tags. */
  least(type: string, depth: number = 0): readonly Fields[] {
    const basis: Record<string, unknown> = {};
    let tags: readonly [string, readonly unknown[]] | undefined;
    for (const [key, alternatives] of Object.entries(shapeOf(this.#graph, type))) {
      const name = memberName(key);
      const literals = literalsOf(alternatives);
      if (isTag(name, alternatives) && literals.length > 1 && !key.endsWith('?')) tags = [name, literals];
      else if (!key.endsWith('?') && key !== '[]') basis[name] = this.#least(alternatives, name, depth);
      // A type of a union is told by its tag, required or not.
      else if (isTag(name, alternatives) && literals.length === 1) basis[name] = literals[0];
    }
    const [tag, values] = tags ?? ['', []];
    const tagged = tags === undefined ? [basis] : values.map((value) => ({ ...basis, [tag]: value }));
    return tagged.map((fields) => ({ ...fields, ...this.#needs[type], ...this.#needs[tagOf(fields)] }));
  }

  #least(alternatives: readonly Alternative[], name: string, depth: number): unknown {
    const [literal] = literalsOf(alternatives);
    if (literal !== undefined) return literal;
    if (alternatives.includes('string')) return textFor(name, 'xx000000');
    if (alternatives.includes('number')) return 1024;
    if (alternatives.includes('boolean')) return false;
    if (alternatives.includes('null')) return null;
    if (alternatives.includes('unknown')) return {};
    // Text is allowed in every message, a file is not.
    const types = alternatives.flatMap((each) =>
      typeof each === 'object' && 'type' in each ? [each.type] : [],
    );
    const type = types.find((each) => each.includes('Text')) ?? types[0];
    if (type !== undefined) return this.least(type, depth + 1)[0];
    for (const each of alternatives) {
      if (typeof each !== 'object') continue;
      if ('record' in each) return {};
      if ('list' in each) return depth > 4 ? [] : [this.#least(each.list, name, depth + 1)];
    }
    throw new Error(`${this.#graph.sdk}: no value for ${name}`);
  }

  #values(alternative: Alternative, name: string): readonly unknown[] {
    if (alternative === 'string') return [textFor(name, mark)];
    if (alternative === 'number') return markNumbers;
    if (alternative === 'boolean') return [true, false];
    if (alternative === 'null') return [null];
    if (alternative === 'unknown') return [{ type: 'object', properties: { [mark]: { type: 'string' } } }];
    return typeof alternative === 'object' && 'literal' in alternative ? [alternative.literal] : [];
  }
}

function memberName(key: string): string {
  if (key === '[]') return 'extra';
  return key.endsWith('?') ? key.slice(0, -1) : key;
}

/** `type` and `role` say which object of a union it is; the object is tried as a whole. */
function isTag(name: string, alternatives: readonly Alternative[]): boolean {
  return (
    (name === 'type' || name === 'role') && alternatives.every((each) => isLiteral(each) || each === 'null')
  );
}

function tagOf(fields: Fields): string {
  const tag = fields['type'] ?? fields['role'];
  return typeof tag === 'string' ? tag : '';
}

function isLiteral(alternative: Alternative): boolean {
  return typeof alternative === 'object' && 'literal' in alternative;
}

function without(fields: Fields, name: string): Fields {
  const { [name]: _, ...rest } = fields;
  return rest;
}

function textFor(name: string, text: string): string {
  if (name === 'file_data') return `data:application/pdf;base64,${text}`;
  return /url|uri$/i.test(name) ? `https://example.com/${text}` : text;
}

function otherThan(value: unknown, alternative: Alternative, name: string): unknown {
  if (typeof value === 'string') return isLiteral(alternative) ? undefined : textFor(name, 'xx000000');
  if (typeof value === 'number') return value === 7 ? 8 : 1;
  return typeof value === 'boolean' ? !value : undefined;
}
