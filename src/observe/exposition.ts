import { setImmediate as turn } from 'node:timers/promises';
import type { Registry } from 'prom-client';

/** Lines written before other work gets its turn. */
const linesPerTurn = 500;

/**
 * All metrics of a registry in Prometheus' text format. Written in turns: with a thousand nodes it is 20,000 lines, and
 * in one go they would hold up every stream for 40 ms.
 */
export async function exposition(registry: Registry): Promise<string> {
  const parts: string[] = [];
  let lines: string[] = [];
  // Its type says nothing of `get`, which every metric has.
  for (const metric of registry.getMetricsAsArray() as unknown as { get(): Promise<Collected> }[]) {
    const { name, help, type, values } = await metric.get();
    lines.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`);
    lines.push(`# TYPE ${name} ${type}`);
    for (const { metricName = name, labels, value } of values) {
      lines.push(`${metricName}${labelsText(labels)} ${valueText(value)}`);
      if (lines.length < linesPerTurn) continue;
      parts.push(lines.join('\n'));
      lines = [];
      await turn();
    }
    lines.push('');
  }
  parts.push(lines.join('\n'));
  return parts.join('\n');
}

interface Collected {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly {
    readonly metricName?: string;
    readonly labels: Readonly<Record<string, string | number>>;
    readonly value: number;
  }[];
}

function labelsText(labels: Readonly<Record<string, string | number>>): string {
  let text = '';
  for (const label in labels) {
    if (!Object.hasOwn(labels, label)) continue;
    text += `${text === '' ? '{' : ','}${label}="${escaped(String(labels[label]))}"`;
  }
  return text === '' ? '' : `${text}}`;
}

function escaped(text: string): string {
  if (!/[\\\n"]/.test(text)) return text;
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function valueText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}
