import { manifest } from '../support/standalone.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';
import type { Fault } from './fault.ts';
import type { Scene } from './scene.ts';
import type { Served } from './served.ts';

let nodes = 0;

/** A node whose models come from its listing, with a way to ask for the next sync and wait until it was made. */
async function listedNode(scene: Scene): Promise<{
  served: Served;
  upstream: ScriptedUpstream;
  sync(): Promise<void>;
  serves(model: string): Promise<boolean>;
  names: readonly [string, string];
}> {
  const served = await scene.shared();
  nodes += 1;
  const name = `listed-${nodes}`;
  const names = [`${name}-a`, `${name}-b`] as const;
  // The declared model is not used: what counts is an upstream that ends with the scene.
  const { upstreams } = await served.declare([{ upstream: { models: names } }]);
  const [upstream] = upstreams;
  if (upstream === undefined) throw new Error('no upstream');
  let requested = 0;
  const write = () =>
    served.folders.write(
      `${name}.yaml`,
      manifest(
        'UpstreamNode',
        name,
        { baseURL: upstream.url, healthCheck: { mode: 'None', timeoutSeconds: 1 } },
        { annotations: { 'modelgateway.dev/sync-requested-at': String(requested) } },
      ),
    );
  const serves = async (model: string) => (await served.ask({ path: `/models/${model}` })).status === 200;
  const asked = () => upstream.requestsTo('/models').length;
  const sync = async () => {
    const before = asked();
    requested += 1;
    await write();
    await served.process.until('the node is asked for its models', () => asked() > before);
  };
  scene.onEnd(() => served.folders.remove(`${name}.yaml`));
  await sync();
  await served.process.until('its models are served', () => serves(names[1]));
  return { served, upstream, sync, serves, names };
}

/** A listing that goes wrong so; the models of before stay, and the next good listing bites. */
function badListing(id: string, what: string, behaviour: Behaviour, form: Fault['form'] = 'full'): Fault {
  return {
    ...{ id: `upstream-listing-${id}`, group: 'upstream', section: 'Model sync', form },
    promise: `${what}: the models of before stay served, and the next good listing bites`,
    async run(scene) {
      const { upstream, sync, serves, names } = await listedNode(scene);
      upstream.respondWith('/models', behaviour);
      await sync();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      for (const name of names) scene.must(`${name} is still served`, await serves(name));
      upstream.respondWith('/models', undefined);
      upstream.answers.models = [...names, `${names[0]}-new`];
      await sync();
      await scene.recovers('a new model is served', () => serves(`${names[0]}-new`));
      scene.saw('both models served throughout, the third after the next good listing');
    },
  };
}

export const listingFaults: readonly Fault[] = [
  badListing('hangs', 'a models list that never comes', { kind: 'hang' }),
  badListing('endless', 'a models list without end', { kind: 'endlessBody' }),
  badListing(
    'garbage',
    'a models list that is none',
    { kind: 'answer', body: '<html>not a list</html>' },
    'short',
  ),
  badListing('500', 'a models list that fails', { kind: 'answer', status: 500, body: {} }),
  badListing('cut', 'a models list that is cut off', { kind: 'shortBody' }),
  {
    id: 'upstream-listing-shrinks',
    group: 'upstream',
    section: 'Model sync',
    promise: 'a model that is missing from a listing goes only after three good listings in a row without it',
    form: 'short',
    async run(scene) {
      const { upstream, sync, serves, names } = await listedNode(scene);
      upstream.answers.models = [names[0]];
      for (const round of [1, 2]) {
        await sync();
        await new Promise((resolve) => setTimeout(resolve, 300));
        scene.must(`still served after ${round} without it`, await serves(names[1]));
      }
      await sync();
      await scene.recovers('it is gone after the third', async () => !(await serves(names[1])));
      scene.must('the other stays', await serves(names[0]));
      scene.saw('served after two, gone after the third');
    },
  },
];
