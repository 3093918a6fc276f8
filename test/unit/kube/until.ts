/** Waits until `ready` returns something truthy; fails with `what` after three seconds. */
export async function until<T>(ready: () => T, what: string): Promise<NonNullable<T>> {
  const deadline = performance.now() + 3_000;
  for (;;) {
    const value = ready();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
