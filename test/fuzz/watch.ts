import fc from 'fast-check';
import { systemClock } from '../../src/kube/clock.ts';
import { reflect } from '../../src/kube/reflect.ts';
import { scriptedServer } from '../unit/kube/scripted-server.ts';
import { type FuzzOptions, type FuzzReport, failuresOf } from './fuzz-report.ts';
import { almost, mangled } from './weird-json.ts';

const thing = (name: string, version: string) => ({
  metadata: { name, namespace: 'a', resourceVersion: version },
});
const events = [
  { type: 'ADDED', object: thing('x', '5') },
  { type: 'MODIFIED', object: thing('y', '6') },
  { type: 'DELETED', object: thing('x', '7') },
  {
    type: 'BOOKMARK',
    object: { metadata: { resourceVersion: '8', annotations: { 'k8s.io/initial-events-end': 'true' } } },
  },
  { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'gone' } },
];
const lists = [{ metadata: { resourceVersion: '4', continue: '' }, items: [thing('x', '3')] }];

const answer = fc.record({
  status: fc.constantFrom(200, 200, 200, 200, 400, 401, 404, 410, 422, 500),
  text: fc.oneof(
    fc
      .array(
        fc.oneof(
          almost(events),
          mangled(almost(events)).map((bytes) => bytes.toString('latin1')),
        ),
        { maxLength: 6 },
      )
      .map((lines) => lines.map((line) => `${line}\n`).join('')),
    almost(lists),
    mangled(almost(lists)).map((bytes) => bytes.toString('latin1')),
  ),
  cut: fc.boolean(),
});

/** How long a sound list may take to be taken over after whatever came before. */
const soundMs = 20_000;

/**
 * A scripted API server sends lists and watch events that no API server would. Fails when the reflector ends, or does
 * not come to the sound content that is served in the end.
 */
export async function fuzzWatch({ runs, seed, limitMs }: FuzzOptions): Promise<FuzzReport> {
  const server = await scriptedServer();
  const client = server.client();
  let serial = 0;
  const property = fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 5 }), async (answers) => {
    serial += 1;
    const path = `/apis/fuzz.dev/v1/things-${serial}`;
    const wanted = `sound-${serial}`;
    let left = [...answers];
    server.otherwise((call, response) => {
      if (call.path !== path) return void response.writeHead(404).end();
      const [next, ...rest] = left;
      left = rest;
      if (next !== undefined) {
        response.writeHead(next.status, { 'content-type': 'application/json' });
        response.write(next.text);
        return void (next.cut ? response.destroy() : response.end());
      }
      const isWatch = call.query.get('watch') === 'true';
      response.writeHead(200, { 'content-type': 'application/json' });
      if (!isWatch) {
        response.end(JSON.stringify({ metadata: { resourceVersion: '100' }, items: [thing(wanted, '99')] }));
      } else if (call.query.get('sendInitialEvents') === 'true') {
        response.write(
          `${JSON.stringify({ type: 'ADDED', object: thing(wanted, '99') })}\n${JSON.stringify(events[3])}\n`,
        );
      } else {
        response.end(
          `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })}\n`,
        );
      }
    });
    const stop = new AbortController();
    const late = AbortSignal.timeout(soundMs);
    const names = new Set<string>();
    const nameOf = (object: unknown) =>
      String((object as { metadata?: { name?: unknown } } | null)?.metadata?.name);
    const sound = new Promise<void>((resolve, reject) => {
      late.addEventListener('abort', () => reject(new Error(`not ${wanted} but ${[...names].slice(0, 5)}`)));
      const look = () => names.has(wanted) && names.size === 1 && resolve();
      const sink = {
        replace(objects: unknown[]) {
          names.clear();
          for (const object of objects) names.add(nameOf(object));
          look();
        },
        set: (object: unknown) => void names.add(nameOf(object)),
        remove: (object: unknown) => void names.delete(nameOf(object)),
      };
      // Waits between tries are what an API server is spared, not what is tried here.
      reflect({ client, path, sink, clock: hurried, signal: stop.signal }).then(
        () => reject(new Error('it ended')),
        reject,
      );
    });
    try {
      await sound;
    } finally {
      stop.abort();
      server.cutAll();
    }
  });
  try {
    const numRuns = Math.max(10, Math.ceil(runs / 50));
    const details = await fc.check(property, { numRuns, seed, interruptAfterTimeLimit: limitMs });
    return { target: 'watch', runs: details.numRuns, findings: failuresOf('watch', details), figures: {} };
  } finally {
    await server.close();
  }
}

/** A clock whose waits take a thousandth of their time. */
const hurried = {
  ...systemClock,
  after(ms: number, run: () => void) {
    const timer = setTimeout(run, Math.min(ms / 1000, 30_000));
    return () => clearTimeout(timer);
  },
};
