import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long, and about how many seconds alone; most of it is waiting. */
const seconds: Readonly<Record<string, number>> = {
  'cluster/outage': 90,
  'cluster/claims': 160,
  'cluster/lost-namespace': 120,
  'cluster/undecryptable': 60,
  'cluster/writes': 56,
  'cluster/faults-access': 40,
  'cluster/faults-processes': 34,
  'cluster/faults-clocks': 28,
  'cluster/namespace-selector': 35,
  'cluster/election': 25,
  'cluster/nodes': 25,
  'cluster/leader': 21,
  'cluster/cli-nodes': 24,
  'cluster/kube': 23,
  'cluster/control-plane': 17,
  'cluster/faults-churn': 12,
  'cluster/cli-keys': 12,
  'cluster/declarations': 10,
  'console/rows': 50,
  'console/scale': 50,
  'console/forward': 46,
  'console/cluster': 40,
  'console/looks': 40,
  'proof/soak': 40,
  'proof/faults': 37,
  'proof/scale': 20,
  'proof/bench-peers': 12,
  'proof/nodes-at-once': 12,
  'proof/fuzz': 10,
  'wire/quick-start': 40,
  'wire/standalone-drain': 15,
  'wire/convert-failover': 13,
  'wire/otlp': 13,
  'wire/standalone-crash': 12,
  'wire/role-examples': 10,
  'wire/standalone-restart': 9,
  'wire/tls': 9,
};

/**
 * Vitest's order of files: those that take long first, so that none of them is left alone at the end; the others by name.
 * Without it vitest goes by what the last run on the machine has measured, and on a new machine by size.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted(
      (a, b) =>
        a.project.config.sequence.groupOrder - b.project.config.sequence.groupOrder ||
        secondsOf(b) - secondsOf(a) ||
        a.moduleId.localeCompare(b.moduleId),
    );
  }
}

function secondsOf({ moduleId }: TestSpecification): number {
  const [, name = ''] = /\/test\/(.+)\.test\.ts$/.exec(moduleId) ?? [];
  return seconds[name] ?? 0;
}
