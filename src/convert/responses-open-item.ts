/** An event before it has its number. */
export interface ResponsesEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Takes an event, or its text as `openDelta` wrote it. */
export type Emit = (event: ResponsesEvent | string) => void;

/** The index and id of an item; the same in all of its events. */
export interface ItemPlace {
  readonly id: string;
  readonly index: number;
}
