import { Counter, Gauge, Histogram, Registry, Summary } from 'prom-client';
import { expect, test } from 'vitest';
import { exposition } from '../../../src/observe/exposition.ts';

test('metrics read as prom-client writes them, over several turns', async () => {
  const registry = new Registry();
  const registers = [registry];
  const counter = new Counter({ name: 'c_total', help: 'a\\b\nc "d"', labelNames: ['x', 'y'], registers });
  for (let i = 0; i < 1_200; i++) counter.inc({ x: `"${i}"\\`, y: 'a\nb' }, i / 3);
  new Gauge({ name: 'g', help: 'g', registers }).set(Number.POSITIVE_INFINITY);
  new Gauge({ name: 'n', help: 'n', registers }).set(Number.NaN);
  const histogram = new Histogram({ name: 'h', help: 'h', labelNames: ['x'], buckets: [1, 2.5], registers });
  histogram.observe({ x: 'ü' }, 2);
  new Summary({ name: 's', help: 's', registers }).observe(3);
  new Gauge({ name: 'empty', help: 'e', labelNames: ['x'], registers });
  const lines = (text: string) => text.split('\n').filter((line) => line !== '');
  expect(lines(await exposition(registry))).toEqual(lines((await registry.metrics()).replace('Nan', 'NaN')));
  expect((await exposition(registry)).endsWith('\n')).toBe(true);
});
