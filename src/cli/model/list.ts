import type { AddCommand } from '../add-command.ts';
import { explained } from '../help.ts';
import { type Column, type OutputFlags, printList, withOutput } from '../output.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import type { Tint } from '../table.ts';
import { listedModels } from './listed-models.ts';
import type { KnownModel, Server } from './servers.ts';

const tintOfState: ReadonlyMap<string, Tint> = new Map(
  Object.entries<Tint>({
    served: 'good',
    'last resort': 'warn',
    'not served': 'faint',
  }),
);
const mostNodes = 3;

/** `models` */
export const addModels: AddCommand = (program, context) => {
  const command = program
    .command('models')
    .description('Lists the names that callers may use, with the nodes that serve each, in order.')
    .action(async (flags: PlaceFlags & OutputFlags) => {
      const { models, namespace, place } = await listedModels(context, flags);
      await printList(context, flags.output, {
        items: models,
        columns: columns(namespace === undefined),
        object: modelObject,
        name: ({ name }) => name,
        none: `No models found ${namespace === undefined ? 'in any namespace' : `in namespace ${namespace}`} of ${place}.`,
      });
    });
  withPlace(withOutput(command), 'many');
  explained(command, { examples: ['models', 'models --all-namespaces -o wide'] });
};

function columns(withNamespace: boolean): Column<KnownModel>[] {
  const nodeName = ({ node: { metadata } }: Server): string =>
    withNamespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
  return [
    { title: 'MODEL', cell: ({ name }) => name },
    { title: 'STATE', cell: stateText, tint: (model) => tintOfState.get(stateText(model)) },
    {
      title: 'NODES',
      cell: ({ servers }) => {
        const serving = servers.filter(({ takesTraffic }) => takesTraffic).map(nodeName);
        const more = serving.length - mostNodes;
        return `${serving.slice(0, mostNodes).join(', ') || '-'}${more > 0 ? ` and ${more} more` : ''}`;
      },
    },
    {
      title: 'ALIAS OF',
      cell: ({ name, servers }) =>
        [...new Set(servers.map(({ model }) => model))].filter((model) => model !== name).join(', ') || '-',
    },
    {
      title: 'CONTEXT',
      cell: ({ card: { contextTokens } }) => (contextTokens === undefined ? '-' : String(contextTokens)),
      wide: true,
    },
    {
      title: 'OUTPUT',
      cell: ({ card: { outputTokens } }) => (outputTokens === undefined ? '-' : String(outputTokens)),
      wide: true,
    },
    {
      title: 'NOT SERVED BY',
      cell: ({ servers }) =>
        servers
          .filter(({ takesTraffic }) => !takesTraffic)
          .map((server) => `${nodeName(server)} (${server.state})`)
          .join(', ') || '-',
      wide: true,
    },
  ];
}

function stateText({ servers }: Pick<KnownModel, 'servers'>): string {
  if (servers.some(({ state }) => state === 'serves')) return 'served';
  return servers.some(({ takesTraffic }) => takesTraffic) ? 'last resort' : 'not served';
}

/** What `-o json` prints of a model. */
export function modelObject({ name, servers, card }: KnownModel): unknown {
  return {
    name,
    state: stateText({ servers }),
    card,
    nodes: servers.map(({ node, model, priority, weight, state, turn, share }) => ({
      namespace: node.metadata.namespace,
      node: node.metadata.name,
      model,
      state,
      phase: node.status?.phase,
      priority,
      weight,
      turn,
      share,
    })),
  };
}
