import { convertedFormats } from '../converted-answer.ts';
import { streamDelta, streamEnd, streamStartOf } from '../fast-upstream.ts';
import { streamChunks } from '../lab.ts';
import { below, type Result, type Row } from '../result.ts';
import { ofFresh } from './idle-streams.ts';

/** Resident memory per open converted stream that has said 1 KB and waits for more. */
export const convertedMemory: Row = {
  name: 'converted-memory',
  run: async (lab) => {
    const results: Result[] = [];
    if (lab.options.gateway === 'bare') return results;
    const { upstream, options, fresh } = lab;
    const count = options.convertedIdle;
    const deltas = Array.from({ length: streamChunks }, () => streamDelta({ content: ' word' }));
    const start = streamStartOf(...deltas);
    const script = { start, piece: Buffer.alloc(0), pieces: 0, end: streamEnd };
    for (const format of convertedFormats) {
      lab.progress(`${count} idle streams converted to ${format}`);
      for (let number = 0; number < count; number++) upstream.script(number, script);
      const each = await ofFresh(fresh.gateway, count, format);
      for (let number = 0; number < count; number++) upstream.script(number, undefined);
      results.push({
        row: 'converted-memory',
        measure: `${count} open converted streams, ${format} → chat: memory of each`,
        ...below(100, each, 'KB'),
        note: `after ${streamChunks} chunks; 1 KB of it is the text`,
        figures: { each },
      });
    }
    return results;
  },
};
