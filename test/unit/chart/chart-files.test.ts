import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { crdTemplate } from '../../../scripts/chart/crd-template.ts';
import { describedValues } from '../../../scripts/chart/described-values.ts';
import { chartReadme } from '../../../scripts/chart/readme.ts';
import { crds } from '../../../src/resources/crd.ts';
import { parseResource } from '../../../src/resources/parse.ts';
import { declaredCrds } from '../../support/declared-crds.ts';

const chart = parse(
  readFileSync(new URL('../../../charts/model-gateway/Chart.yaml', import.meta.url), 'utf8'),
) as { version: string; annotations: Record<string, string> };

describe('what Artifact Hub reads', () => {
  const annotation = (name: string): unknown => parse(chart.annotations[`artifacthub.io/${name}`] ?? '');

  test('the definitions are the ones that there are', () => {
    const described = crds().map(({ metadata, spec }) => ({
      kind: spec.names.kind,
      name: metadata.name,
      version: spec.versions[0]?.name,
    }));
    expect(annotation('crds')).toMatchObject(described.map((crd) => expect.objectContaining(crd)));
  });

  test('an example of each, which is valid', () => {
    const examples = annotation('crdsExamples') as { kind: string }[];
    expect(examples.map(({ kind }) => kind).sort()).toEqual(
      declaredCrds()
        .map(({ spec }) => spec.names.kind)
        .sort(),
    );
    for (const example of examples)
      expect(parseResource(example)).toMatchObject({ resource: { kind: example.kind } });
  });

  test('the image is of the same version', () => {
    expect(annotation('images')).toMatchObject([{ image: expect.stringMatching(`:${chart.version}$`) }]);
  });
});

test('what the GitOps examples declare is valid', () => {
  const folder = new URL('../../../examples/gitops/models/', import.meta.url);
  const files = readdirSync(folder);
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) {
    const parsed = parseResource(parse(readFileSync(new URL(file, folder), 'utf8')));
    expect(parsed, file).toHaveProperty('resource');
  }
});

describe('what is generated', () => {
  test('a definition is taken by Helm as text, and not twice', () => {
    const crd = 'kind: CustomResourceDefinition\nmetadata:\n  name: a.example\nspec: {}\n';
    expect(crdTemplate(crd)).toMatch(
      /^\{\{- if .Values.crds.enabled \}\}\n(.|\n)*spec: \{\}\n\{\{- end \}\}\n$/,
    );
    expect(() => crdTemplate(`${crd}# {{ x }}\n`)).toThrow('"{{"');
    expect(() => crdTemplate(crd.replace('name:', 'labels: {}\n  name:'))).toThrow();
  });

  test('values are described by the comments above them', () => {
    const yaml =
      '# Of the file.\n\n# First.\na: 1\n# A group.\nb:\n  # Two\n  # lines.\n  c: []\n  d: {x: 1}\n';
    expect(describedValues(yaml)).toEqual([
      { path: 'a', text: 'First.', default: '1' },
      { path: 'b', text: 'A group.' },
      { path: 'b.c', text: 'Two lines.', default: '[]' },
      { path: 'b.d', text: '' },
      { path: 'b.d.x', text: '', default: '1' },
    ]);
  });

  test('a value that nobody explained, and a README without a place for values, are refused', () => {
    expect(() => chartReadme('<!-- values -->\n', 'a: 1\n')).toThrow('no comment above a');
    expect(() => chartReadme('none\n', '# A.\na: 1\n')).toThrow('must hold <!-- values --> once');
    expect(chartReadme('x\n<!-- values -->\ny\n', '# A | b.\na: 1\n')).toContain(
      '| `a` | `1` | A \\| b. |\ny\n',
    );
  });
});
