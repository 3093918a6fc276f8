import type { Locator, Page } from 'playwright-core';
import { tabTo } from './focus.ts';

/** How a person acts on the page: every row of the console is done by each of these alone. */
export interface Hands {
  readonly by: 'mouse' | 'keyboard';
  /** A link, a button, a tick box, a switch, a summary. */
  press(control: Locator): Promise<void>;
  /** Puts a text into a field, in place of what was there. */
  type(field: Locator, text: string): Promise<void>;
  choose(select: Locator, label: string): Promise<void>;
  /** The radio button of a group of two that is not chosen. */
  pickOther(radio: Locator): Promise<void>;
  /** Puts the first moment of a year into a field for a time. */
  typeNewYear(field: Locator, year: number): Promise<void>;
}

export const ways = ['mouse', 'keyboard'] as const;

/** The hands of a person who has a mouse and who types into fields, or of one who has no mouse. */
export function handsAt(page: Page, by: Hands['by']): Hands {
  return by === 'mouse' ? mouse() : keyboard(page);
}

function mouse(): Hands {
  return {
    by: 'mouse',
    press: (control) => control.click(),
    type: (field, text) => field.fill(text),
    choose: async (select, label) => void (await select.selectOption({ label })),
    pickOther: (radio) => radio.click(),
    typeNewYear: (field, year) => field.fill(`${year}-01-01T00:00`),
  };
}

function keyboard(page: Page): Hands {
  return {
    by: 'keyboard',
    async press(control) {
      await tabTo(page, control);
      await page.keyboard.press((await control.getAttribute('type')) === 'checkbox' ? 'Space' : 'Enter');
    },
    async type(field, text) {
      await tabTo(page, field);
      await page.keyboard.press('ControlOrMeta+A');
      if (text === '') await page.keyboard.press('Delete');
      else await page.keyboard.type(text);
    },
    async choose(select, label) {
      await tabTo(page, select);
      await page.keyboard.press('Home');
      const chosen = (): Promise<string> =>
        select.evaluate(
          (element: unknown) =>
            (element as { selectedOptions: readonly { textContent: string }[] }).selectedOptions[0]
              ?.textContent ?? '',
        );
      for (let presses = 0; presses < 20 && (await chosen()) !== label; presses++) {
        await page.keyboard.press('ArrowDown');
      }
    },
    async pickOther() {
      await tabTo(page, page.locator('input[type=radio]:checked'));
      await page.keyboard.press('ArrowDown');
    },
    async typeNewYear(field, year) {
      await tabTo(page, field);
      await page.keyboard.type(`0101${year}`);
      await page.keyboard.press('ArrowRight');
      await page.keyboard.type('1200AM');
    },
  };
}
