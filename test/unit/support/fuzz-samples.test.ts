import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as answers from '../../fuzz/sample-answers.ts';
import { sampleRequests } from '../../fuzz/sample-requests.ts';

/** Read of what this program made itself, of headers and of addresses. */
const ours = [
  ...['finish', 'search', 'converted', 'reply', 'sequence', 'circuit', 'convert', 'result', 'wish'],
  ...['traceparent', 'tracestate', 'limit', 'after', 'client_version'],
  // In types of manifests.
  ...['resource', 'spec', 'concurrency'],
];

// `test/fuzz` replaces the members of these samples: what ended the gateway was read in `error.code`, and no sample had one.
test('every member that requests and answers are read for is in a sample of the fuzz', () => {
  const known = new Set(ours);
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      known.add(name);
      collect(inner);
    }
  };
  collect([{ ...answers }, sampleRequests]);
  const missing = ['convert', 'gateway'].flatMap((folder) => {
    const at = new URL(`../../../src/${folder}/`, import.meta.url);
    return readdirSync(at, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => {
        const read = readFileSync(new URL(file, at), 'utf8').matchAll(/\['([a-z_]+)'\]/g);
        return [...read].flatMap(([, name = '']) => (known.has(name) ? [] : [`${folder}/${file}: ${name}`]));
      });
  });
  expect(missing).toEqual([]);
});
