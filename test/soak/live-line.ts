import type { Load } from './load.ts';
import type { ModelServers } from './model-servers.ts';
import type { Sample } from './sample.ts';

/** Writes a line for each sample: over the last one on a terminal, every sixth one elsewhere. */
export function liveLine(stream: NodeJS.WriteStream) {
  let count = 0;
  return (sample: Sample, { counts, failures }: Load, seen: ModelServers['seen']): void => {
    count += 1;
    if (!stream.isTTY && count % 6 !== 1) return;
    const played = Object.values(counts).reduce((sum, one) => sum + one.played, 0);
    const heap = sample.heap === undefined ? '' : `, heap ${mib(sample.heap)}`;
    const line = [
      `soak: ${sample.seconds.toFixed(0)} s: ${played} played, ${failures.length} wrong, ${seen.faults} faults`,
      `resident ${mib(sample.resident)}${heap}, ${sample.descriptors} descriptors`,
      `delay p99 ${sample.delayP99.toFixed(1)} ms, longest ${sample.delayLongest.toFixed(0)} ms`,
    ].join('; ');
    stream.write(stream.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
  };
}

function mib(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
