/** The server is notified at most this often: a session lives for a minute at least. */
const tellMs = 20_000;

/**
 * Notifies the server that a reader is active, when they type, click or scroll. Requests that the page sends without the
 * reader do not keep the session alive: otherwise the session of an open page would never end.
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
