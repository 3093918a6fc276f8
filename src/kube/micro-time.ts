/** A time as Kubernetes' MicroTime, which needs exactly six fraction digits; `toISOString` writes three. */
export function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}
