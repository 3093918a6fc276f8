import type { Socket } from 'node:net';

/** Passes on what either end says. Both are in `open` until they are closed; either's end, or failure, is the other's. */
export function pipeSockets(
  near: Socket,
  far: Socket,
  open: Set<Socket>,
  fail: (other: Socket) => void,
): void {
  near.pipe(far).pipe(near);
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    open.add(one);
    one.on('error', () => fail(other));
    one.on('close', () => {
      open.delete(one);
      other.destroy();
    });
  }
}
