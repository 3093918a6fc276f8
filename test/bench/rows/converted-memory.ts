import { convertedFormats } from '../converted-answer.ts';
import { below, type Result, type Row } from '../result.ts';
import { ofFresh } from './idle-streams.ts';

/** Resident memory per open converted stream that has had its first chunk and waits for the next. */
export const convertedMemory: Row = {
  name: 'converted-memory',
  run: async ({ options, fresh, progress }) => {
    const results: Result[] = [];
    if (options.gateway === 'bare') return results;
    const count = options.convertedIdle;
    for (const format of convertedFormats) {
      progress(`${count} idle streams converted to ${format}`);
      const each = await ofFresh(fresh.gateway, count, format);
      results.push({
        row: 'converted-memory',
        measure: `${count} idle open streams, ${format} → chat: memory of each`,
        ...below(100, each, 'KB'),
        ...{ note: 'idle-streams has those that are passed through', figures: { each } },
      });
    }
    return results;
  },
};
