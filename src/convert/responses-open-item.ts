/** An event before it has its number. */
export interface ResponsesEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export type Emit = (event: ResponsesEvent) => void;

/** Where an item stands in `output`; both are the same in all of its events. */
export interface ItemPlace {
  readonly id: string;
  readonly index: number;
}
