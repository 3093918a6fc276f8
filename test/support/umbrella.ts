import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { chartFolder } from './chart.ts';
import type { Helm } from './helm.ts';

/**
 * What the chart renders for each of many values, by one run of Helm in place of hundreds: a chart that depends on it once
 * under each name. Give each a `nameOverride`, as the chart's own name is not seen there. @throws with Helm's message
 */
export async function renderMany(
  helm: Helm,
  variants: ReadonlyMap<string, object>,
): Promise<ReadonlyMap<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'model-gateway-umbrella-'));
  try {
    const names = [...variants.keys()];
    const aliases = names.map((_, index) => `variant${index}end`);
    const dependency = { name: 'model-gateway', version: '*' };
    const chart = {
      apiVersion: 'v2',
      name: 'umbrella',
      version: '0.0.0',
      dependencies: aliases.map((alias) => ({ ...dependency, alias })),
    };
    const values = Object.fromEntries(
      aliases.map((alias, index) => [alias, variants.get(names[index] ?? '')]),
    );
    await mkdir(join(folder, 'charts'));
    await symlink(chartFolder, join(folder, 'charts', 'model-gateway'));
    await writeFile(join(folder, 'Chart.yaml'), stringify(chart));
    await writeFile(join(folder, 'values.yaml'), JSON.stringify(values));
    const text = await helm.ok(['template', 'mg', folder, '--namespace', 'models']);
    const parts = new Map(aliases.map((alias): [string, string[]] => [alias, []]));
    for (const piece of text.split(/^---\n/m)) {
      const alias = /^# Source: umbrella\/charts\/(variant\d+end)\//m.exec(piece)?.[1];
      if (alias !== undefined) parts.get(alias)?.push(piece.replaceAll(alias, 'model-gateway').trim());
    }
    return new Map(
      names.map((name, index) => [name, (parts.get(aliases[index] ?? '') ?? []).join('\n---\n')]),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
