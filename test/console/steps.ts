import type { Page } from 'playwright-core';

/** Reads how long a page's main thread has worked: scripts, styles and layout, in milliseconds of processor time. */
export async function startMeter(page: Page): Promise<{ spent(): Promise<number>; stop(): Promise<void> }> {
  const session = await page.context().newCDPSession(page);
  // Ticks of the thread and no wall time: that others use the machine at the same time does not count.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return {
    async spent() {
      const { metrics } = await session.send('Performance.getMetrics');
      return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000;
    },
    stop: () => session.detach(),
  };
}

export function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

const tries = 5;

/**
 * What each step costs the page's main thread until the frame after it is drawn: the median of five tries, as one of them
 * may meet a collection of garbage or a compiler. Steps are JavaScript, run in the page one after the other; each must come
 * to the same whatever was before it. The limit that is aimed for can be asserted as it stands.
 */
export async function costsOf(page: Page, steps: readonly string[]): Promise<readonly number[]> {
  const meter = await startMeter(page);
  const costs = steps.map((): number[] => []);
  for (let round = 0; round < tries; round++) {
    for (const [index, step] of steps.entries()) {
      const before = await meter.spent();
      await page.evaluate(
        `(async () => { ${step}; await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))); })()`,
      );
      costs[index]?.push((await meter.spent()) - before);
    }
  }
  await meter.stop();
  return costs.map(medianOf);
}

/** A step that types a text into the input of this selector, in place of what was there. */
export function typed(selector: string, text: string): string {
  return `const input = document.querySelector(${JSON.stringify(selector)});
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, ${JSON.stringify(text)});
    input.dispatchEvent(new InputEvent('input', { bubbles: true }))`;
}
