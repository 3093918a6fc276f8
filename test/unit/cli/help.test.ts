import { expect, test } from 'vitest';
import { examplesOf, helpTopics } from '../../../src/cli/help.ts';
import { roleSummaries } from '../../../src/role-summaries.ts';
import { commandsOf, wholeProgram } from '../../support/cli-examples.ts';
import { expectScreen } from '../../support/screen.ts';

const program = await wholeProgram();
const commands = commandsOf(program).filter(([path]) => !Object.hasOwn(roleSummaries, path));

test.each(commands)('%s --help fits a screen and ends with two examples', (path, command) => {
  const text = command.helpInformation();
  expectScreen(text);
  if (path === 'help') return;
  const isGroup = command.commands.length > 0 && path !== '';
  const examples = examplesOf(command);
  expect(examples.length).toBe(isGroup ? examples.length : 2);
  expect(text.trimEnd().endsWith(examples.map((example) => `  model-gateway ${example}`).join('\n'))).toBe(
    true,
  );
  if (path !== '') for (const example of examples) expect(example).toMatch(new RegExp(`^${path}( |$)`));
});

test('as kubectl modelgateway, which is longer, it fits too', async () => {
  const plugin = await wholeProgram();
  plugin.name('kubectl modelgateway');
  const ofPlugin = commandsOf(plugin).filter(([path]) => !Object.hasOwn(roleSummaries, path));
  for (const [, command] of ofPlugin) expectScreen(command.helpInformation());
});

test.each(Object.entries(helpTopics))('help %s fits a screen', (_, topic) => {
  expectScreen(topic('model-gateway'));
});
