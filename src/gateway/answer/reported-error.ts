/** An error in JSON; `null` is none, and what a model wrote has `\"error\"` at most. */
const error = /"error"(?!\s*:\s*null)/;

/** Whether the first piece of an answer of status 200 may be an error that the node reports in it. */
export function mayReportError(piece: Buffer, longest: number): boolean {
  return piece.length <= longest && piece.includes('"error"') && error.test(piece.toString('latin1'));
}
