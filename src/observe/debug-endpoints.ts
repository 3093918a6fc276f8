import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Log, logLevels } from './log.ts';

export interface DebugAnswer {
  readonly status: number;
  readonly body: string;
}

/** Answers a request below `/debug/`. */
export type DebugEndpoints = (request: IncomingMessage) => Promise<DebugAnswer>;

const mostSeconds = 120;

/**
 * `GET /debug/profile?seconds=N` records the CPU for N seconds (10 without it) and returns a `.cpuprofile`, one at a time.
 * `GET` and `PUT /debug/log-level?level=debug` read and change the level of the log until the process ends. Only
 * connections from loopback are answered, such as those of `kubectl port-forward`: other pods reach the admin port too.
 */
export function debugEndpoints(log: Log): DebugEndpoints {
  let isRecording = false;
  const profile = async (text: string | null): Promise<DebugAnswer> => {
    const seconds = Number(text ?? 10);
    if (!(seconds >= 1 && seconds <= mostSeconds)) {
      return { status: 400, body: `seconds must be from 1 to ${mostSeconds}\n` };
    }
    if (isRecording) return { status: 409, body: 'a profile is being recorded already\n' };
    isRecording = true;
    try {
      return { status: 200, body: await record(seconds * 1000) };
    } finally {
      isRecording = false;
    }
  };
  const level = (method: string | undefined, wanted: string | null): DebugAnswer => {
    if (method === 'GET') return { status: 200, body: `${log.level}\n` };
    const known = logLevels.find((each) => each === wanted);
    if (known === undefined) return { status: 400, body: `level must be one of ${logLevels.join(', ')}\n` };
    log.warn({ from: log.level, to: known }, 'The log level was changed on the admin port');
    log.level = known;
    return { status: 200, body: `${known}\n` };
  };
  return async (request) => {
    if (!isLoopback(request.socket.remoteAddress)) {
      return { status: 403, body: 'only from loopback: use kubectl port-forward\n' };
    }
    const url = new URL(request.url ?? '', 'http://admin.invalid');
    const { method } = request;
    if (url.pathname === '/debug/profile' && method === 'GET')
      return profile(url.searchParams.get('seconds'));
    if (url.pathname === '/debug/log-level' && (method === 'GET' || method === 'PUT')) {
      return level(method, url.searchParams.get('level'));
    }
    return { status: 404, body: 'not found: there are GET /debug/profile, GET and PUT /debug/log-level\n' };
  };
}

async function record(ms: number): Promise<string> {
  // Loaded when it is asked for: hardly any process ever records a profile.
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await delay(ms);
    const { profile } = await session.post('Profiler.stop');
    return JSON.stringify(profile);
  } finally {
    session.disconnect();
  }
}

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(::ffff:)?127\.|^::1$/.test(address);
}
