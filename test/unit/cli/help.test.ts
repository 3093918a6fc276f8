import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { examplesOf, helpTopics } from '../../../src/cli/help.ts';
import { roleSummaries } from '../../../src/roles/role-summaries.ts';
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

const names = commands.map(([path]) => path);
const groups = new Set(
  program.commands.filter((each) => each.commands.length > 0).map((each) => each.name()),
);

test('the table of docs/commands.md names every command, and no other', () => {
  const [, table = ''] = readFileSync('docs/commands.md', 'utf8').split('| command | does |\n|---|---|\n');
  const [rows = ''] = table.split('\n\n');
  const told = rows.split('\n').flatMap((row) => {
    let group = '';
    return [...(row.split(' | ')[0] ?? '').matchAll(/`([a-z]+)(?: ([a-z]+))?( …)?[^`]*`/g)].flatMap(
      ([, first = '', second, all]) => {
        // What stands behind `node add` alone is of that group: `edit`.
        const path = names.includes(first) ? first : `${group} ${first}`;
        if (groups.has(first)) group = first;
        if (all !== undefined) return names.filter((name) => name.startsWith(`${first} `));
        return second === undefined ? path : `${first} ${second}`;
      },
    );
  });
  const wanted = names.filter((name) => name !== '' && name !== 'help' && !groups.has(name));
  expect(told.sort()).toEqual(wanted.sort());
});

test.each(['README.md', 'SECURITY.md', ...globSync(['{docs,src,charts}/**/*.md'])])(
  'commands that %s calls by their bare names are there',
  (document) => {
    const spans = [...readFileSync(document, 'utf8').matchAll(/`([a-z]+) ([a-z]+)[^`\n]*`/g)];
    const bare = spans.filter(([, first = '']) => groups.has(first));
    const missing = bare.filter(([, first, second]) => !names.includes(`${first} ${second}`));
    expect(missing.map(([span]) => span)).toEqual([]);
  },
);
