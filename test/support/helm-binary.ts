import { fillFolder } from './fill-folder.ts';
import { fromCache, isExecutable, programsIn } from './from-cache.ts';
import { runGo } from './run-go.ts';

const version = 'v4.3.1';
const lockTimeoutMs = 40 * 60_000;

/**
 * Path of the Helm program: the one that the variable `HELM` names, or what an earlier run left in the user's cache
 * folder, or built there from Go modules (2 minutes on two cores, once).
 *
 * @throws with a text that names all ways when none of them works.
 */
export async function helmBinary(
  env: NodeJS.ProcessEnv = process.env,
  say: (line: string) => void = (line) => process.stderr.write(`helm: ${line}\n`),
): Promise<string> {
  const named = env['HELM'];
  if (named !== undefined && named !== '') {
    if (await isExecutable(named)) return named;
    throw new Error(`HELM=${named}: this is no program; name one of Helm ${version}, or unset the variable`);
  }
  return fromCache(
    {
      name: `helm/helm-${version}-${process.platform}-${process.arch}`,
      find: async (folder) => (await programsIn(folder, ['helm']))?.helm,
      get: (folder) => build(folder, say),
      onWait: () => say('another process is building it; waiting (about 2 minutes)…'),
      timeoutMs: lockTimeoutMs,
    },
    env,
  );
}

async function build(folder: string, say: (line: string) => void): Promise<void> {
  say(`building Helm ${version} from source, once: about 2 minutes on two cores…`);
  const stamp = `-X helm.sh/helm/v4/internal/version.version=${version}`;
  try {
    await fillFolder(folder, async (staging, guard) => {
      await runGo({
        arguments: [
          'install',
          '-trimpath',
          '-ldflags',
          `-s -w ${stamp}`,
          `helm.sh/helm/v4/cmd/helm@${version}`,
        ],
        what: 'Helm',
        cwd: staging,
        folder: staging,
        env: { GOBIN: staging },
        guard,
        say,
      });
      return staging;
    });
  } catch (error) {
    throw new Error(
      [
        'The chart tests need Helm, and there was no way to get it. What was tried:',
        `  - the build from Go modules failed: ${error instanceof Error ? error.message : String(error)}`,
        'Do one of these, then run the tests again:',
        `  1. Set HELM to the path of a Helm ${version} program.`,
        `  2. Put it at ${folder}${process.platform === 'win32' ? '\\helm.exe' : '/helm'}.`,
        `  3. Install Go 1.26 or newer, with access to a Go module proxy: Helm ${version} is then built.`,
      ].join('\n'),
      { cause: error },
    );
  }
}
