import type { RequestRecord } from '../../../src/observe/request-record.ts';

/** The record of a plain request that went well, with changes. */
export function createRequestRecord(changes: Partial<RequestRecord> = {}): RequestRecord {
  return {
    route: '/v1/chat/completions',
    status: 200,
    model: undefined,
    node: undefined,
    attempts: 1,
    durationMs: 5,
    firstContentMs: undefined,
    bytesIn: 0,
    bytesOut: 0,
    tokens: undefined,
    errorCode: undefined,
    ...changes,
  };
}
