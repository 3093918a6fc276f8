import type { Page } from 'playwright-core';

/**
 * What each step costs the page's main thread until the frame after it is drawn: scripts, styles and layout, in
 * milliseconds of processor time, so that a busy machine does not count. Steps are JavaScript, run in the page.
 */
export async function costsOf(page: Page, steps: readonly string[]): Promise<readonly number[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000;
  };
  const costs: number[] = [];
  for (const step of steps) {
    const before = await spent();
    await page.evaluate(
      `(async () => { ${step}; await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))); })()`,
    );
    costs.push((await spent()) - before);
  }
  await session.detach();
  return costs;
}

/** A step that types a text into the input of this selector, in place of what was there. */
export function typed(selector: string, text: string): string {
  return `const input = document.querySelector(${JSON.stringify(selector)});
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, ${JSON.stringify(text)});
    input.dispatchEvent(new InputEvent('input', { bubbles: true }))`;
}
