import { attemptsToLeave, isWalled } from '../../support/wall.ts';
import type { BenchOptions } from '../options.ts';
import type { Result, Row } from '../result.ts';
import { peerVersions } from './contestants.ts';
import { addedLatency } from './rows/added-latency.ts';
import { bigPrompts } from './rows/big-prompts.ts';
import { convertedRequests } from './rows/converted-requests.ts';
import { openStreams } from './rows/open-streams.ts';
import { requests } from './rows/requests.ts';
import { streamedChunks } from './rows/streamed-chunks.ts';

/** What `--peers` measures, in this order. */
export const peerRows: readonly Row[] = [
  ...[addedLatency, requests, convertedRequests, streamedChunks, bigPrompts, openStreams],
];

/** The last lines: who was measured, and whether any of them tried to reach beyond this machine. */
export function peerNotes({ check }: BenchOptions): Result[] {
  if (check) return [];
  const line = { row: 'wall', measure: 'attempts to leave this machine', goal: '0' };
  const note = peerVersions();
  if (!isWalled()) {
    const why = 'no network namespace here: telemetry is off by settings alone';
    return [{ ...line, measured: 'not seen', ok: undefined, note: `${why}; ${note}`, figures: {} }];
  }
  const attempts = attemptsToLeave();
  return [{ ...line, measured: String(attempts), ok: attempts === 0, note, figures: { attempts } }];
}
