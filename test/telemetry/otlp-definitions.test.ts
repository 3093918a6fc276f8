import { expect, test } from 'vitest';
import { officialOtlpDefinitions } from '../support/otlp-definitions.ts';
import { otlpMessages } from '../support/otlp-messages.ts';

test('the receiver of the tests reads OTLP as its project defines it', async () => {
  const official = await officialOtlpDefinitions();
  for (const [message, fields] of Object.entries(otlpMessages)) {
    expect([message, official[message]]).toMatchObject([message, fields]);
  }
});
