import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chartFolder } from './chart.ts';

/**
 * A chart as the version before this one may have been: versions lowered, and UpstreamNode without `spec.<field>`. Answers
 * its folder, which `asyncDispose` removes.
 *
 * @throws when the definition has no such field
 */
export async function previousChart(field: string): Promise<{ folder: string } & AsyncDisposable> {
  const parent = await mkdtemp(join(tmpdir(), 'model-gateway-previous-chart-'));
  const folder = join(parent, 'model-gateway');
  await cp(chartFolder, folder, { recursive: true });
  const edit = async (path: string, change: (text: string) => string) => {
    const file = join(folder, path);
    await writeFile(file, change(await readFile(file, 'utf8')));
  };
  await edit('Chart.yaml', (text) => text.replaceAll(/^(version|appVersion): .*$/gm, '$1: 0.0.9'));
  await edit('templates/crds/upstreamnodes.yaml', (text) => withoutField(text, field));
  return {
    folder,
    [Symbol.asyncDispose]: () => rm(parent, { recursive: true, force: true }),
  };
}

/** Without the first block that starts with `field:` and all that is indented deeper. */
function withoutField(text: string, field: string): string {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.trim() === `${field}:`);
  if (first === -1) throw new Error(`the definition of UpstreamNode has no field ${field}`);
  const depth = (line: string) => line.length - line.trimStart().length;
  const depthOfField = depth(lines[first] ?? '');
  const more = lines.slice(first + 1).findIndex((line) => depth(line) <= depthOfField);
  lines.splice(first, more + 1);
  return lines.join('\n');
}
