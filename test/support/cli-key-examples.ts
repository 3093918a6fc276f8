import { expect } from 'vitest';
import { examplesOf } from '../../src/cli/help.ts';
import { commandsOf, wholeProgram } from './cli-examples.ts';
import type { Ended } from './run-to-end.ts';

const ours = /^(keys?|masterkeys?|route|check)\b/;

/** Runs every example that the help of keys, routes and `check` shows. `manifests` is the folder that `check` is given. */
export async function runKeyExamples(
  run: (...args: string[]) => Promise<Ended>,
  manifests: string,
): Promise<void> {
  const all = commandsOf(await wholeProgram()).flatMap(([, command]) => examplesOf(command));
  const examples = [...new Set(all)].filter((example) => ours.test(example));
  expect(examples.length).toBeGreaterThan(25);
  for (const example of examples) {
    const [group = '', verb = '', name = ''] = example.split(' ');
    const kind = group === 'masterkey' ? 'masterkey' : 'key';
    // What an earlier example made, or took away, must not decide about this one.
    if (verb === 'create') await run(kind, 'revoke', name, '--yes');
    else if (/^[a-z]/.test(name)) await run(kind, 'create', name, '--secret-name', `${kind}-${name}`);
    if (group === 'route') await run('key', 'create', 'ci', '--secret-name', 'key-ci');
    const args = example
      .replace(/ > \S+$/, '')
      .split(' ')
      .map((word) => (word === 'manifests' ? manifests : word));
    // An earlier example may have made this one by its hash.
    if (verb === 'rotate') {
      await run(kind, 'revoke', name, '--yes');
      await run(kind, 'create', name, '--secret-name', `${kind}-${name}-${args.length}`);
    }
    const { code, stderr } = await run(...args);
    // No node serves the examples' model: what is run here is the explanation of that.
    // Nor is there always a controller that issues keys.
    const wanted = (group === 'route' || verb === 'reveal') && code === 3 ? 3 : 0;
    expect
      .soft({ example, code, stderr: code === wanted ? '' : stderr })
      .toEqual({ example, code: wanted, stderr: '' });
  }
}
