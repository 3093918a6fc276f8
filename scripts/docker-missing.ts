import { spawnSync } from 'node:child_process';

const minute = 60_000;

/**
 * Why nothing can be built or run with Docker here, with the remedy; undefined when it can. `plugin` is a command of
 * Docker's that is needed too.
 */
export function dockerMissing(plugin?: string): string | undefined {
  const asked = spawnSync('docker', ['version', '--format', '{{.Server.Version}}'], {
    encoding: 'utf8',
    timeout: minute,
  });
  if (asked.error !== undefined) {
    return 'there is no docker in PATH; install Docker (https://docs.docker.com/engine/install), then run this again.';
  }
  if (asked.status !== 0) {
    const reason = asked.stderr.trim().split('\n').at(-1) ?? '';
    return `the Docker engine does not answer (${reason}); start it, or set DOCKER_HOST, then run this again.`;
  }
  if (plugin === undefined) return undefined;
  const { status } = spawnSync('docker', [plugin, 'version'], { stdio: 'ignore', timeout: minute });
  return status === 0
    ? undefined
    : `docker ${plugin} is missing; install that plugin of Docker, then run this again.`;
}
