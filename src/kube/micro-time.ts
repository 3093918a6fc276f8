/** A time as Kubernetes' MicroTime: exactly six fraction digits, where `toISOString` gives three and is refused. */
export function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}
