import type { Caller } from '../bench-requests.ts';
import { callerOf, type Lab } from '../lab.ts';
import type { ProcessUnderTest } from '../process-under-test.ts';
import type { Result } from '../result.ts';
import { installedPeers } from './behind-wall.ts';
import { type Found, noPeers } from './installed.ts';
import { litellmCaller, startLiteLLM } from './litellm.ts';
import { startNginx } from './nginx.ts';
import { portkeyCaller, startPortkey } from './portkey.ts';

export type PeerName = 'nginx' | 'portkey' | 'litellm';

/** A proxy that takes part, and how to call it. */
export interface Contestant {
  readonly name: string;
  readonly pid: number;
  readonly caller: Caller;
}

/** What people call them. */
export const titles: Readonly<Record<PeerName, string>> = {
  ...{ nginx: 'nginx', portkey: 'Portkey', litellm: 'LiteLLM' },
};

const starts: Readonly<Record<PeerName, (lab: Lab, folder: string) => Promise<ProcessUnderTest>>> = {
  ...{ nginx: startNginx, portkey: startPortkey, litellm: startLiteLLM },
};

const running = new Map<PeerName, Promise<ProcessUnderTest>>();

export async function bareContestant(lab: Lab): Promise<Contestant> {
  return contestant(await lab.bare());
}

export async function gatewayContestant(lab: Lab): Promise<Contestant> {
  return contestant(await lab.gateway());
}

export function contestant(target: ProcessUnderTest): Contestant {
  return { name: target.name, pid: target.pid, caller: callerOf(target) };
}

/** A peer, started when first asked for; throws with what is missing. */
async function peerContestant(lab: Lab, name: PeerName): Promise<Contestant> {
  const found = foundPeer(name);
  if ('missing' in found) throw new Error(`not measured: ${found.missing}`);
  const started = running.get(name) ?? starts[name](lab, found.folder);
  if (!running.has(name)) lab.progress(`starting ${titles[name]} ${found.version}`);
  running.set(name, started);
  const { pid, port } = await started;
  const callers: Readonly<Record<PeerName, () => Caller>> = {
    nginx: () => callerOf({ port }),
    portkey: () => portkeyCaller(port, lab.upstream.port),
    litellm: () => litellmCaller(port),
  };
  return { name, pid, caller: callers[name]() };
}

/**
 * Lines that need a peer; one that cannot be measured is a line that falls short, where there is a goal to meet. Nothing where
 * peers are left out.
 */
export async function besidePeer(
  lab: Lab,
  name: PeerName,
  { row, measure, goal }: Pick<Result, 'row' | 'measure'> & { goal: number | undefined },
  lines: (peer: Contestant) => Promise<Result[]>,
): Promise<Result[]> {
  if (lab.options.check) return [];
  try {
    return await lines(await peerContestant(lab, name));
  } catch (error) {
    const [note = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
    lab.progress(`${measure}: ${error instanceof Error ? error.message : String(error)}`);
    return [
      {
        row,
        measure,
        goal: '',
        measured: 'failed',
        ok: goal === undefined ? undefined : false,
        note,
        figures: {},
      },
    ];
  }
}

/** The versions of all peers, for the last lines of the table. */
export function peerVersions(): string {
  const versions = (Object.keys(titles) as PeerName[]).map((name) => {
    const found = foundPeer(name);
    return `${titles[name]} ${'missing' in found ? '(missing)' : found.version}`;
  });
  return versions.join(', ');
}

function foundPeer(name: PeerName): Found {
  return (installedPeers() ?? noPeers)[name];
}
