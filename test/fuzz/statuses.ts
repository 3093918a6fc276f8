/** The statuses of all answers in what came back on one connection; the first alone where an answer has no length. */
export function statusesOf(received: string): number[] {
  const statuses: number[] = [];
  let rest = received;
  for (;;) {
    const status = /^HTTP\/1\.[01] (\d{3}) /.exec(rest)?.[1];
    const head = rest.indexOf('\r\n\r\n');
    if (status === undefined || head === -1) return statuses;
    statuses.push(Number(status));
    const fields = rest.slice(0, head);
    const length = /\r\ncontent-length: *(\d+)/i.exec(fields)?.[1];
    if (length === undefined && !status.startsWith('1') && status !== '204') return statuses;
    rest = rest.slice(head + 4 + Number(length ?? 0));
  }
}
