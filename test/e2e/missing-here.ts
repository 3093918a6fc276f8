import { spawnSync } from 'node:child_process';
import { dockerMissing } from '../../scripts/docker-missing.ts';

const programs = {
  kind: 'install it: go install sigs.k8s.io/kind@latest, or https://kind.sigs.k8s.io',
  kubectl: 'install it: https://kubernetes.io/docs/tasks/tools',
} as const;

/** Why the end-to-end tests cannot run on this machine, with a remedy each; empty when they can. */
export function missingHere(): readonly string[] {
  const docker = dockerMissing('buildx');
  return [
    ...(docker === undefined ? [] : [docker]),
    ...Object.entries(programs)
      .filter(([name]) => spawnSync(name, ['version', '--client'], { stdio: 'ignore' }).error !== undefined)
      .map(([name, remedy]) => `there is no ${name} in PATH; ${remedy}, then run this again.`),
  ];
}
