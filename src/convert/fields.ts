import type { Dropped, Unread } from './dropped.ts';
import { isObject, type JsonObject } from './json.ts';
import { limits } from './limits.ts';
import {
  asList,
  asObject,
  invalid,
  isNestedWithin,
  missing,
  type NumberRange,
  pathOf,
  wrongType,
} from './request-fields.ts';
import { isUnreadText, type LongTextReader, type UnreadText, unmarkedText } from './unread-text.ts';
import { WrittenNumber } from './written-numbers.ts';

const largest = Number.MAX_SAFE_INTEGER;

/** What all objects of one request share. */
interface Reading {
  readonly dropped: Dropped;
  /** Undefined: the body has no marks. */
  readonly texts: LongTextReader | undefined;
}

/**
 * The one way to read an object of a caller's request. It remembers which members were read, and `Dropped` reports all
 * others after the conversion, so that no member is lost without a report. Code cannot reach the object itself, or the marks
 * that replace long texts. A wrong type throws a ConversionError with the path; null counts as absent.
 */
export class Fields implements Unread {
  readonly #object: JsonObject;
  readonly #reading: Reading;
  readonly #owner: Fields | undefined;
  readonly #key: string;
  readonly #index: number | undefined;
  readonly #taken: string[] = [];
  #hints = none;
  #whole = false;

  private constructor(object: JsonObject, owner: Fields | Reading, key: string = '', index?: number) {
    this.#object = object;
    this.#owner = owner instanceof Fields ? owner : undefined;
    this.#reading = owner instanceof Fields ? owner.#reading : owner;
    this.#key = key;
    this.#index = index;
    this.#reading.dropped.watch(this);
  }

  /** The request itself. `texts`: those for the marks in it. */
  static of(body: unknown, dropped: Dropped, texts?: LongTextReader): Fields {
    return new Fields(asObject(body, 'body'), { dropped, texts });
  }

  /** Path of this object, as `messages[0].content[1]`; '' for the request itself. */
  get at(): string {
    if (this.#owner === undefined) return '';
    const path = this.#owner.path(this.#key);
    return this.#index === undefined ? path : pathOf(path, this.#index);
  }

  /** Path of a member. */
  path(key: string): string {
    return pathOf(this.at, key);
  }

  text(key: string): string | undefined {
    const text = this.unreadText(key);
    return text === undefined ? undefined : this.read(text);
  }

  neededText(key: string): string {
    return this.read(this.neededUnreadText(key));
  }

  /** A text that is passed on as it is. */
  unreadText(key: string): UnreadText | undefined {
    const value = this.#take(key);
    return value === undefined ? undefined : this.#unreadText(value, key);
  }

  neededUnreadText(key: string): UnreadText {
    return this.#unreadText(this.#need(key), key);
  }

  /** Returns the text itself. */
  read(text: UnreadText): string {
    const { texts } = this.#reading;
    const marked = unmarkedText(text);
    return texts === undefined ? marked : texts.read(marked);
  }

  flag(key: string): boolean | undefined {
    const value = this.#take(key);
    if (value === undefined || typeof value === 'boolean') return value;
    throw wrongType(this.path(key), 'boolean', value);
  }

  number(key: string, range: NumberRange = {}): number | undefined {
    const taken = this.#take(key);
    if (taken === undefined) return undefined;
    const value = taken instanceof WrittenNumber ? Number(taken.written) : taken;
    if (range.integer === true && Number.isInteger(value) && !Number.isSafeInteger(value))
      throw invalid(this.path(key), `Input should be an integer that a double holds, up to ${largest}`);
    const fits = range.integer === true ? Number.isSafeInteger(value) : Number.isFinite(value);
    if (typeof value !== 'number' || !fits)
      throw wrongType(this.path(key), range.integer === true ? 'integer' : 'number', value);
    if (range.least !== undefined && value < range.least)
      throw invalid(this.path(key), `Input should be greater than or equal to ${range.least}`);
    if (range.most !== undefined && value > range.most)
      throw invalid(this.path(key), `Input should be less than or equal to ${range.most}`);
    return value;
  }

  object(key: string): Fields | undefined {
    const value = this.#take(key);
    return value === undefined ? undefined : this.#member(value, key);
  }

  neededObject(key: string): Fields {
    return this.#member(this.#need(key), key);
  }

  objects(key: string, most: number): readonly Fields[] | undefined {
    const value = this.#take(key);
    return value === undefined ? undefined : this.#members(value, key, most);
  }

  neededObjects(key: string, most: number): readonly Fields[] {
    return this.#members(this.#need(key), key, most);
  }

  texts(key: string, most: number): readonly string[] | undefined {
    return this.unreadTexts(key, most)?.map((text) => this.read(text));
  }

  unreadTexts(key: string, most: number): readonly UnreadText[] | undefined {
    const value = this.#take(key);
    if (value === undefined) return undefined;
    return this.#list(value, key, most).map((item, index) => this.#unreadText(item, key, index));
  }

  /** A member that is a text or an object. */
  textOrObject(key: string): string | Fields | undefined {
    return this.kind(key) === 'text' ? this.text(key) : this.object(key);
  }

  /** A member that is a text, which is passed on as it is, or a list of objects. */
  unreadTextOrObjects(key: string, most: number): UnreadText | readonly Fields[] | undefined {
    const value = this.#take(key);
    return value === undefined || isUnreadText(value) ? value : this.#members(value, key, most);
  }

  /** A member that is a text or a list of texts. */
  textOrTexts(key: string, most: number): string | readonly string[] | undefined {
    return this.kind(key) === 'text' ? this.text(key) : this.texts(key, most);
  }

  /** A member that is an object of texts under any name. */
  textsByName(key: string): void {
    const value = this.#take(key);
    if (value === undefined) return;
    if (!isObject(value)) throw wrongType(this.path(key), 'object', value);
    for (const [name, text] of Object.entries(value))
      if (typeof text !== 'string')
        throw wrongType(pathOf(this.path(key), name.slice(0, 64)), 'string', text);
  }

  /** An object that is passed on as it is and not looked into: a schema, the input of a tool. */
  whole(key: string): JsonObject | undefined {
    const value = this.#take(key);
    return value === undefined ? undefined : this.#unread(value, key);
  }

  neededWhole(key: string): JsonObject {
    return this.#unread(this.#need(key), key);
  }

  /** A member as the caller sent it, for an answer that repeats it. The member does not count as read. */
  repeated(key: string): unknown {
    return this.#withTexts(this.#object[key]);
  }

  /** Whether one of these members is there; not taken. */
  hasAny(keys: ReadonlySet<string>): boolean {
    for (const key in this.#object) if (keys.has(key)) return true;
    return false;
  }

  /** The type of a member's value, for members that accept several types. The member does not count as read. */
  kind(key: string): Kind {
    return kindOf(this.#object[key]);
  }

  /** The same of the first entry of a list. */
  firstKind(key: string): Kind {
    const value = this.#object[key];
    return kindOf(Array.isArray(value) ? value[0] : undefined);
  }

  /** Takes a member without reading it. Returns whether the caller asks for something with it. */
  asked(key: string): boolean {
    return isAsked(this.#take(key));
  }

  /** Which members change no answer: they are named as hints if no one takes them; all others are losses. */
  hints(keys: ReadonlySet<string>): void {
    this.#hints = keys;
  }

  /** Marks members as read that mean nothing to a model: ids and states of the history. The page of the format lists them. */
  unneeded(...keys: readonly string[]): undefined {
    for (const key of keys) this.#take(key);
  }

  /** Reports a member as a loss, unless its value is one of `done`, which has the effect that the conversion has anyway. */
  lossUnless(key: string, ...done: readonly unknown[]): void {
    const value = this.#withTexts(this.#take(key));
    if (isAsked(value) && !done.includes(value)) this.#reading.dropped.loss(this.path(key));
  }

  /** Names a member as not carried, which changes no answer. */
  hint(key: string): void {
    this.#reading.dropped.hint(this.path(key));
  }

  /** Names the object itself as not carried, in place of its members. */
  dropWhole(as: 'loss' | 'hint'): void {
    this.#whole = true;
    this.#reading.dropped[as](this.at);
  }

  nameUnread(): void {
    const taken = this.#taken;
    for (const key in this.#object)
      if (!taken.includes(key) && isAsked(this.#object[key]) && !this.#isDropped())
        this.#reading.dropped[this.#hints.has(key) ? 'hint' : 'loss'](this.path(key));
  }

  #isDropped(): boolean {
    let object: Fields | undefined = this;
    while (object !== undefined && !object.#whole) object = object.#owner;
    return object !== undefined;
  }

  #take(key: string): unknown {
    const value = this.#object[key];
    if (value === undefined) return undefined;
    this.#taken.push(key);
    return value === null ? undefined : value;
  }

  #need(key: string): unknown {
    const value = this.#take(key);
    if (value === undefined) throw missing(this.path(key));
    return value;
  }

  #member(value: unknown, key: string, index?: number): Fields {
    if (isObject(value)) return new Fields(value, this, key, index);
    const path = this.path(key);
    throw wrongType(index === undefined ? path : pathOf(path, index), 'object', value);
  }

  #members(value: unknown, key: string, most: number): readonly Fields[] {
    return this.#list(value, key, most).map((item, index) => this.#member(item, key, index));
  }

  // The path is put together only for a refusal.
  #list(value: unknown, key: string, most: number): readonly unknown[] {
    return Array.isArray(value) && value.length <= most ? value : asList(value, this.path(key), most);
  }

  #unreadText(value: unknown, key: string, index?: number): UnreadText {
    if (isUnreadText(value)) return value;
    const path = this.path(key);
    throw wrongType(index === undefined ? path : pathOf(path, index), 'string', value);
  }

  #withTexts(value: unknown): unknown {
    return this.#reading.texts?.readWithin(value) ?? value;
  }

  #unread(value: unknown, key: string): JsonObject {
    if (!isObject(value)) throw wrongType(this.path(key), 'object', value);
    if (!isNestedWithin(value, limits.nesting))
      throw invalid(this.path(key), `Input should not be nested more than ${limits.nesting} levels deep`);
    this.#withTexts(value);
    return value;
  }
}

type Kind = 'absent' | 'text' | 'list' | 'object' | 'other';

function kindOf(value: unknown): Kind {
  if (value === undefined || value === null) return 'absent';
  if (typeof value === 'string') return 'text';
  if (Array.isArray(value)) return 'list';
  return isObject(value) ? 'object' : 'other';
}

const none: ReadonlySet<string> = new Set();

/** Whether a value asks for something: null, false and empty lists or objects do not. */
export function isAsked(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
