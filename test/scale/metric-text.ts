/** Sum of the samples of one metric in Prometheus' text format whose labels have these values; 0 where there are none. */
export function gauge(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samples(text, name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** All samples of one metric. */
export function samples(text: string, name: string): Sample[] {
  const found: Sample[] = [];
  for (const [, labels = '', value] of text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)`, 'gm'))) {
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', of = '']) => [
      label,
      of,
    ]);
    found.push({ labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) });
  }
  return found;
}
