import { setImmediate as turn } from 'node:timers/promises';
import type { Registry } from 'prom-client';

/** Lines written before the event loop goes on to other work. */
const linesPerTurn = 500;

/**
 * All metrics of a registry in Prometheus' text format. The function yields to the event loop in between: a thousand nodes make
 * 20,000 lines, which would delay every stream by 40 ms if they were written at once.
 */
export async function exposition(registry: Registry): Promise<string> {
  const parts: string[] = [];
  let lines: string[] = [];
  // Every metric has `get`, but its type does not declare it.
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
