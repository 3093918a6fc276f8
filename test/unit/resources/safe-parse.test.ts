import { expect, test } from 'vitest';
import { parseResource, parseStored } from '../../../src/resources/parse.ts';

const apiVersion = 'modelgateway.dev/v1alpha1';
const spec = { baseURL: 'https://x.example/v1' };
const hostile: readonly object[] = [
  { length: { toString: 1 } },
  { length: {}, size: { valueOf: 1 } },
  { length: [{ toString: 1 }] },
];

// zod compares these lengths as numbers, which they are not, and threw a TypeError out of `parseResource`.
test.each(
  hostile.flatMap(
    (value) =>
      [
        [
          'spec.manualModels',
          { kind: 'UpstreamNode', metadata: { name: 'n' }, spec: { ...spec, manualModels: value } },
        ],
        [
          'spec.displayName',
          { kind: 'UpstreamNode', metadata: { name: 'n' }, spec: { ...spec, displayName: value } },
        ],
        ['metadata.name', { kind: 'UpstreamNode', metadata: { name: value }, spec }],
        [
          'spec.models',
          { kind: 'APIKey', metadata: { name: 'k' }, spec: { secretName: 's', models: value } },
        ],
      ] as const,
  ),
)('%s is refused for its type: %j', (path, object) => {
  for (const parse of [parseResource, parseStored]) {
    const parsed = parse({ apiVersion, ...object });
    expect('problems' in parsed && parsed.problems[0]).toMatchObject({ path });
  }
});
