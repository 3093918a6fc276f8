/** Told at most this often: sessions live for a minute at the least. */
const tellMs = 20_000;

/**
 * Tells the server that a reader is there, as they type, press or scroll. What the page reads anew by itself keeps no
 * session alive, or one that was left open would never end.
 */
export function followReader(): void {
  let toldMs = -tellMs;
  const tell = (): void => {
    if (performance.now() - toldMs < tellMs) return;
    toldMs = performance.now();
    fetch('/api/acted', { method: 'POST' }).catch(() => {});
  };
  for (const input of ['keydown', 'pointerdown', 'wheel']) {
    addEventListener(input, tell, { capture: true, passive: true });
  }
}
