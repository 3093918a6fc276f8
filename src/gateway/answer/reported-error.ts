/** An `error` member that is not null. Text of a model has its quotes escaped (`\"error\"`), so it does not match. */
const error = /"error"(?!\s*:\s*null)/;

/** Whether an answer of status 200 may report an error, by its first piece. */
export function mayReportError(piece: Buffer, longest: number): boolean {
  return piece.length <= longest && piece.includes('"error"') && error.test(piece.toString('latin1'));
}
