import { trace } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { readTraceContext, withTraceContext } from '../../../src/observe/otlp/trace-context.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const read = (traceparent: string | undefined) => trace.getSpanContext(readTraceContext(traceparent, 'a=1'));

test.each<[string, number]>([
  [`00-${traceId}-${spanId}-01`, 1],
  [`00-${traceId}-${spanId}-00`, 0],
  [`00-${traceId}-${spanId}-ff`, 1],
  [`cc-${traceId}-${spanId}-01-what-the-future-brings`, 1],
])('%s is a context', (traceparent, traceFlags) => {
  expect(read(traceparent)).toMatchObject({ traceId, spanId, traceFlags, isRemote: true });
});

test.each([
  undefined,
  '',
  'nonsense',
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId}-${spanId}-1`,
])('%s is none', (traceparent) => {
  expect(read(traceparent)).toBeUndefined();
});

test('a context replaces the caller’s', () => {
  const context = read(`00-${traceId}-${spanId}-01`);
  const callers = ['accept', 'x', 'Traceparent', 'old', 'tracestate', 'old'];
  expect(context === undefined ? [] : withTraceContext(callers, context)).toEqual([
    ...['accept', 'x', 'traceparent', `00-${traceId}-${spanId}-01`, 'tracestate', 'a=1'],
  ]);
});
