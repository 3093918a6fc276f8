import { atLeast, type Result, type Row } from '../result.ts';
import { measureAgents } from '../sharing/agent-sessions.ts';

/** Sessions of agents on four nodes with prefix caches, in this process: it measures choices, not speed. */
export const affinity: Row = {
  name: 'affinity',
  run: async ({ options, progress }) => {
    if (options.gateway === 'bare') return [];
    progress('200 agents of 50 turns on four nodes; one node dies; 10,000 sessions on two gateways');
    const figures = await measureAgents({ sessions: 200, turns: 50, placed: 10_000 });
    const line = (measure: string, goal: string, measured: string, ok: boolean, note: string): Result => ({
      ...{ row: 'affinity', measure, goal, measured, ok, note, figures: { ...figures } },
    });
    const { hits, hitsAtRandom, load, moved, movedOthers, notBack, offShare, differently } = figures;
    return [
      {
        ...{ row: 'affinity', measure: 'prefix-cache hits, 200 sessions of 50 turns on 4 nodes' },
        ...atLeast(0.95, hits),
        note: `${hits.toFixed(3)}; without sessions ${hitsAtRandom.toFixed(3)}; a first turn is never a hit`,
        figures: { ...figures },
      },
      line('requests of the busiest node ÷ its share', '≤ 1.25', load.toFixed(2), load <= 1.25, ''),
      line(
        'sessions of other nodes that move when one dies',
        '0',
        String(movedOthers),
        movedOthers === 0,
        `${moved} of its own moved`,
      ),
      line('sessions that are elsewhere when it is back', '0', String(notBack), notBack === 0, ''),
      line(
        'weights 1 : 3, 10,000 sessions: off its share',
        '≤ 2 %',
        `${(offShare * 100).toFixed(1)} %`,
        offShare <= 0.02,
        '',
      ),
      line(
        'sessions that a second gateway places elsewhere',
        '0',
        String(differently),
        differently === 0,
        '',
      ),
    ];
  },
};
