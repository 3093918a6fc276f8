import type { Page } from 'playwright-core';

/** One state of the page that a reader meets. */
export interface Scene {
  /** Also the name of its screenshot. */
  readonly name: string;
  readonly path: string;
  /** What is done there before it is looked at. */
  readonly act?: (page: Page) => Promise<void>;
}

/** Every page of a console whose folder holds what `sceneManifests` says. `key` opens the gateway. */
export function scenesOf(key: string): readonly Scene[] {
  return [
    {
      name: 'nodes',
      path: '/nodes',
      act: (page) => page.getByRole('checkbox', { name: 'Select on-premises' }).check(),
    },
    { name: 'node', path: '/nodes/default/on-premises' },
    { name: 'node-offline', path: '/nodes/default/laptop' },
    {
      name: 'node-more',
      path: '/nodes/default/on-premises',
      act: async (page) => {
        await page.getByText('More', { exact: true }).click();
        await page.getByText(/^Health check/).click();
        await page.getByRole('button', { name: 'Add one' }).last().click();
        await page.getByText(/^Health check/).scrollIntoViewIfNeeded();
      },
    },
    {
      name: 'models',
      path: '/nodes/default/on-premises/models',
      act: (page) => page.getByRole('checkbox', { name: 'Select gemma' }).check(),
    },
    { name: 'new-node', path: '/nodes/new' },
    {
      name: 'new-node-wrong',
      path: '/nodes/new',
      act: async (page) => {
        await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Not A Name');
        await page.getByRole('button', { name: 'Add', exact: true }).click();
        await page.getByRole('alert').first().waitFor();
      },
    },
    { name: 'keys', path: '/keys' },
    { name: 'new-key', path: '/keys/new' },
    { name: 'key', path: '/keys/default/nightly' },
    {
      name: 'key-models',
      path: '/keys/default/nightly',
      act: async (page) => {
        await page.getByRole('combobox', { name: 'Models' }).fill('w');
        await page.keyboard.press('ArrowDown');
        await page.getByRole('listbox').getByRole('option', { selected: true }).waitFor();
      },
    },
    { name: 'master-keys', path: '/master-keys' },
    { name: 'master-key', path: '/master-keys/default/automation' },
    {
      name: 'routing',
      path: '/routing?model=llama&format=messages',
      act: (page) => page.getByRole('heading', { name: 'Out', exact: true }).waitFor(),
    },
    { name: 'routing-none', path: '/routing' },
    {
      name: 'try',
      path: '/try?model=llama',
      act: async (page) => {
        await page.getByRole('textbox', { name: 'API key' }).fill(key);
        await page.getByRole('combobox', { name: 'Format' }).selectOption('messages');
        await page.getByRole('textbox', { name: 'Message' }).fill('Which model is this?');
        await page.getByRole('button', { name: 'Send' }).click();
        // Of the two that share these requests one converts and one does not.
        await page
          .locator('dl.facts')
          .getByText(/^default\//)
          .waitFor();
        await page.getByText('Raw request').click();
      },
    },
    {
      name: 'try-failed',
      path: '/try?model=nowhere',
      act: async (page) => {
        await page.getByRole('textbox', { name: 'API key' }).fill(key);
        await page.getByRole('textbox', { name: 'Message' }).fill('Which model is this?');
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByRole('group', { name: 'Failed' }).waitFor();
      },
    },
    {
      name: 'leave-out',
      path: '/nodes/default/on-premises/models?filter=w',
      act: async (page) => {
        await page.getByRole('button', { name: 'Leave out by pattern' }).click();
        await page.getByRole('dialog').getByRole('textbox', { name: 'Pattern' }).waitFor();
      },
    },
    {
      name: 'revoke',
      path: '/keys/default/nightly',
      act: (page) => page.getByRole('button', { name: 'Revoke' }).click(),
    },
    {
      name: 'diff',
      path: '/nodes/default/on-premises',
      act: async (page) => {
        await page.getByRole('spinbutton', { name: 'Priority' }).fill('70');
        await page.getByRole('button', { name: 'Show YAML' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).waitFor();
      },
    },
    {
      name: 'delete',
      path: '/nodes/default/laptop',
      act: (page) => page.getByRole('button', { name: 'Delete', exact: true }).click(),
    },
    {
      name: 'rotate',
      path: '/keys/default/nightly',
      act: async (page) => {
        await page.getByRole('button', { name: 'Rotate' }).click();
        await page.getByRole('spinbutton').waitFor();
      },
    },
    {
      name: 'notices',
      path: '/nodes',
      act: async (page) => {
        await page.getByRole('checkbox', { name: 'Select spare' }).check();
        await page.getByRole('button', { name: 'Enable', exact: true }).click();
        await page.getByText('It is enabled already.').waitFor();
      },
    },
    {
      name: 'conflict',
      path: '/nodes/default/spare',
      act: async (page) => {
        const priority = page.getByRole('spinbutton', { name: 'Priority' });
        const before = Number(await priority.inputValue());
        await priority.fill('70');
        const other = await page.context().newPage();
        await other.goto(page.url());
        await other.getByRole('spinbutton', { name: 'Priority' }).fill(String(before + 1));
        await other.getByRole('button', { name: 'Save' }).click();
        await other.getByText('Saved spare.').waitFor();
        await other.close();
        await page.getByText(/was changed since you began/).waitFor();
        await page.getByRole('button', { name: 'Save' }).click();
        await page
          .getByRole('dialog')
          .getByRole('row', { name: /^Priority/ })
          .waitFor();
      },
    },
    { name: 'not-found', path: '/nothing/here' },
  ];
}
