import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/sbom.ts', import.meta.url));
const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, { version: string; dev?: boolean }>;
};

test('the bill of materials names every package that is shipped, and is the same each time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'model-gateway-sbom-'));
  const made = ['one', 'two'].map((name) => {
    execFileSync(process.execPath, [script, join(folder, name)], { encoding: 'utf8', timeout: 60_000 });
    return ['sbom.cdx.json', 'THIRD_PARTY_LICENCES.txt'].map((file) =>
      readFileSync(join(folder, name, file), 'utf8'),
    );
  });
  rmSync(folder, { recursive: true });
  expect(made[0]).toEqual(made[1]);
  const [bom = '', licences = ''] = made[0] ?? [];
  const { components } = JSON.parse(bom) as { components: { name: string; version: string }[] };
  const named = new Set(components.map(({ name, version }) => `${name} ${version}`));
  const shipped = Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { version }]) => `${path.split('node_modules/').at(-1)} ${version}`);
  expect([...named].sort()).toEqual([...new Set(shipped)].sort());
  for (const name of shipped) expect(licences).toContain(`\n${name}: `);
  expect([...named].filter((name) => name.startsWith('vitest '))).toEqual([]);
});
