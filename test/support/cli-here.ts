import { Readable } from 'node:stream';
import { openPlace } from '../../src/cli/place.ts';
import { exitCodeOfRun } from '../../src/cli/run.ts';
import { systemClock } from '../../src/kube/clock.ts';
import { consoleCommand } from '../../src/roles/console-command.ts';
import { roleCommands } from '../../src/roles/role-commands.ts';
import type { CliOptions } from './cli.ts';
import type { Ended } from './run-to-end.ts';

/**
 * Runs a command for people in this process, off a terminal: for what needs no process of its own, which takes half a
 * second each. `env` is what the command sees of variables, but for KUBECONFIG: give `--kubeconfig`.
 */
export async function runHere(
  args: readonly string[],
  { input = '', env = {} }: Pick<CliOptions, 'input' | 'env'> = {},
  signal = AbortSignal.timeout(60_000),
): Promise<Ended> {
  const sink = () => {
    const sunk = {
      text: '',
      write(more: string) {
        sunk.text += more;
      },
    };
    return sunk;
  };
  const [out, err] = [sink(), sink()];
  const code = await exitCodeOfRun(
    args,
    {
      calledAs: 'model-gateway',
      declarations: (flags) => openPlace(flags, env),
      out,
      err,
      stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
      isTerminal: { stdin: false, stdout: false, stderr: false },
      signal,
      clock: systemClock,
      env,
    },
    roleCommands,
    { console: consoleCommand },
  );
  return { code, stdout: out.text, stderr: err.text };
}
