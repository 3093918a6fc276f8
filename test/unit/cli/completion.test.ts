import { expect, test } from 'vitest';
import { flags } from '../../../src/roles/flags.ts';
import { roleCommands } from '../../../src/roles/role-commands.ts';
import { lines } from '../../support/cli.ts';
import { runHere } from '../../support/cli-here.ts';

async function completed(...words: string[]): Promise<string[]> {
  const { stdout } = await runHere(['__complete', '--', ...words]);
  return lines(stdout);
}

test.each(Object.keys(roleCommands))('the flags of %s are offered, with their help', async (role) => {
  const own = Object.entries(flags).filter(([, { commands }]) =>
    (commands as readonly string[]).includes(role),
  );
  const offered = (await completed(role, '--')).map((line) => line.split('\t'));
  expect(offered.map(([flag]) => flag)).toEqual([...own.map(([name]) => `--${name}`), ':4']);
  for (const [, help = ''] of offered.slice(0, -1)) expect(help).not.toBe('');
});

const table: [words: string, wanted: string[]][] = [
  ['contr', ['controller\tthe controller, in a cluster', ':4']],
  ['cons', ['console\tthe administration interface, in your browser', ':4']],
  ['controller --log-format ', ['json', 'text', ':4']],
  ['gateway --log-level=de', ['--log-level=debug', ':4']],
  ['gateway --drain-seconds ', [':4']],
  // Files and folders: the shell offers its own.
  ['gateway --tls-key ', [':0']],
  ['seal --data ', [':0']],
  ['console --tls-cert ', [':0']],
  ['route explain m --request ', [':0']],
  // A switch takes no value.
  ['gateway --all-namespaces --acc', ['--access-log\tall, failed, off, or a share such as 0.1', ':4']],
  ['help exit', ['exit-codes', ':4']],
  ['help route', ['route\texplain where requests for a model go, and why', ':4']],
  ['completion zs', ['zsh', ':4']],
  ['node add a --authentication X', ['XAPIKey', ':4']],
  ['console --read', ['--read-only\tnothing can be changed', ':4']],
];
test.each(table)('%s', async (words, wanted) => {
  expect(await completed(...words.split(' '))).toEqual(wanted);
});

test.each(['foo', 'a b'])(
  'a shell without a script, %j, is refused with those that have one',
  async (shell) => {
    expect(await runHere(['completion', shell])).toEqual({
      code: 2,
      stdout: '',
      stderr: `model-gateway: shell must be one of bash, zsh, fish, not ${shell}. See model-gateway completion --help.\n`,
    });
  },
);
