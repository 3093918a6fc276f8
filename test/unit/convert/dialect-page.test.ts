import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { resolveDialect } from '../../../src/convert/dialect.ts';
import { dialectSchema } from '../../../src/resources/dialect.ts';
import { parseResource } from '../../../src/resources/parse.ts';
import { upstreamNodeSchema } from '../../../src/resources/upstream-node.ts';

const page = readFileSync(new URL('../../../src/convert/dialect.md', import.meta.url), 'utf8');
const rows = [...page.matchAll(/^\| `(\w+)` \| `([^`]+)` \| (?:`([^`]+)`|([^|]+)) \|/gm)].map(
  ([, field = '', common = '', openAI]) => ({
    field,
    common: parse(common) as unknown,
    openAI: openAI === undefined ? undefined : (parse(openAI) as unknown),
  }),
);
const examples = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(
  ([, text = '']) => parse(text) as unknown,
);

/** What the schema and the conversion must agree on; the conversion imports nothing of the resources. */
const fieldNames = Object.keys(dialectSchema.shape);

describe('the page of the dialect', () => {
  it('has a row for each field', () => {
    expect(rows.map(({ field }) => field).sort()).toEqual(fieldNames.sort());
  });

  it.each(rows)('tells the defaults of $field', ({ field, common, openAI }) => {
    const plain: Record<string, unknown> = { ...resolveDialect({ host: 'vllm.example', model: 'm' }) };
    const known: Record<string, unknown> = { ...resolveDialect({ host: 'api.openai.com', model: 'gpt-5' }) };
    expect(typeof common === 'string' ? common : JSON.stringify(common)).toBe(
      typeof plain[field] === 'string' ? plain[field] : JSON.stringify(plain[field]),
    );
    if (openAI !== undefined) expect(openAI).toEqual(known[field]);
  });

  it('has examples that a cluster takes', () => {
    expect(examples).toHaveLength(8);
    for (const example of examples) expect(parseResource(example)).not.toHaveProperty('problems');
  });

  it('has a dialect that fits what manifests say', () => {
    for (const example of examples) {
      const node = upstreamNodeSchema.parse(example);
      const dialect = resolveDialect({
        host: new URL(node.spec.baseURL).hostname,
        model: 'm',
        node: node.spec.dialect,
      });
      for (const field of fieldNames) expect(dialect).toHaveProperty(field);
    }
  });
});
