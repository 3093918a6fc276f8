import type { Registry } from 'prom-client';
import { registerCollected } from './collected-metric.ts';

/** Registers how many files and documents of a manifest folder are not in force; `counts` is read at each scrape. */
export function registerManifestMetric(
  registry: Registry,
  counts: () => Readonly<Record<'file' | 'document' | 'object', number>>,
): void {
  registerCollected(
    registry,
    {
      name: 'modelgateway_manifests_not_in_force',
      help: 'Files that cannot be read, documents that are not valid, and objects whose valid document is refused.',
      type: 'gauge',
      labelNames: ['scope'],
    },
    function* () {
      for (const [scope, value] of Object.entries(counts())) yield { labels: { scope }, value };
    },
  );
}
