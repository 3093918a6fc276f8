import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/** The little of an element that these tests read. */
interface Seen {
  readonly ownerDocument: {
    readonly activeElement: unknown;
    readonly defaultView: {
      getComputedStyle(element: unknown): { readonly outlineStyle: string; readonly boxShadow: string };
    };
  };
  contains(other: unknown): boolean;
}

/** Goes to a control by Tab alone, and sees that the focus is seen there. */
export async function tabTo(page: Page, control: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await control.waitFor();
  const isThere = (): Promise<boolean> =>
    control.evaluate((element: unknown) => (element as Seen).ownerDocument.activeElement === element);
  for (let presses = 0; presses < 80 && !(await isThere()); presses++) await page.keyboard.press(key);
  expect(await isThere(), `${key} leads to ${control}`).toBe(true);
  const mark = (): Promise<boolean> =>
    control.evaluate((element: unknown) => {
      const { getComputedStyle } = (element as Seen).ownerDocument.defaultView;
      const { outlineStyle, boxShadow } = getComputedStyle(element);
      return outlineStyle !== 'none' || boxShadow !== 'none';
    });
  await expect.poll(mark, { message: `the focus is seen on ${control}` }).toBe(true);
}

export function holdsFocus(dialog: Locator): Promise<boolean> {
  return dialog.evaluate((element: unknown) =>
    (element as Seen).contains((element as Seen).ownerDocument.activeElement),
  );
}

/** The text, or the name, of what has the focus. */
export function focused(page: Page): Promise<string> {
  return page.evaluate(
    'document.activeElement.textContent || document.activeElement.name',
  ) as Promise<string>;
}

/**
 * A dialog keeps the focus: Tab, both ways and more often than it has controls, never reaches the page behind it (what the
 * browser itself has, its address bar, shows as the document's body). Escape closes it, and the focus is where it was.
 */
export async function expectTrap(page: Page, dialog: Locator, before: string): Promise<void> {
  await dialog.waitFor();
  expect(await holdsFocus(dialog)).toBe(true);
  for (const key of [...Array(8).fill('Tab'), ...Array(8).fill('Shift+Tab')] as string[]) {
    await page.keyboard.press(key);
    const outside = await page.evaluate(
      `document.activeElement !== document.body && document.activeElement.closest('dialog') === null && document.activeElement.outerHTML`,
    );
    expect(outside, `${key} stays in the dialog`).toBe(false);
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => focused(page)).toBe(before);
}
