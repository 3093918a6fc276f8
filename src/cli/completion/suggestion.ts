export interface Suggestion {
  readonly value: string;
  readonly help: string;
}
