export interface Candidate {
  readonly value: string;
  readonly help: string;
}
