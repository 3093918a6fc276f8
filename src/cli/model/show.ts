import type { AddCommand } from '../add-command.ts';
import { CommandError } from '../command-error.ts';
import { completes } from '../completion/completes.ts';
import { exitCodes } from '../exit-codes.ts';
import { explained } from '../help.ts';
import { type Column, listText, type OutputFlags, printData, withOutput } from '../output.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { oneLine } from '../table.ts';
import { withNearest } from '../with-nearest.ts';
import { cardText } from './card-text.ts';
import { modelObject } from './list.ts';
import { listedModels } from './listed-models.ts';
import type { KnownModel, Server } from './servers.ts';

/** `model show` */
export const addModelShow: AddCommand = (group, context) => {
  const command = group
    .command('show')
    .summary('who serves a model, in which order')
    .description('Shows who serves a model, in the order of asking, and its other names.')
    .argument('<name>', 'name or alias of the model')
    .action(async (name: string, flags: PlaceFlags & OutputFlags) => {
      const { models, namespace, place } = await listedModels(context, flags);
      const model = models.find((each) => each.name === name);
      if (model === undefined) throw unknownModel(name, models, `${place}, ${namespace ?? 'all namespaces'}`);
      const aliases = otherNames(model, models);
      if (flags.output === 'json' || flags.output === 'yaml') {
        return printData(context, flags.output, { ...(modelObject(model) as object), otherNames: aliases });
      }
      context.out.write(
        `Name:          ${oneLine(name)}\nOther names:   ${oneLine(aliases.join(', ')) || '-'}\n${cardText(model.card)}\n`,
      );
      context.out.write(
        listText(context, 'table', { items: model.servers, columns: columns(namespace === undefined, name) }),
      );
    });
  completes(command, 'model');
  withPlace(withOutput(command, ['table', 'json', 'yaml']), 'many');
  explained(command, {
    notes: ['What a certain key may use, and what conversions lose: route explain.'],
    examples: ['model show gpt-5', 'model show gpt-5 -o json'],
  });
};

function unknownModel(name: string, models: readonly KnownModel[], where: string): CommandError {
  const known = models.map((model) => model.name);
  const message = `no node knows a model ${JSON.stringify(name)} (${where})`;
  return new CommandError(
    exitCodes.notFound,
    withNearest(message, name, known, 'the command models lists those that are known'),
  );
}

/** Other names for the same models on the same nodes: the real name behind an alias, and further aliases. */
function otherNames({ name, servers }: KnownModel, models: readonly KnownModel[]): string[] {
  const reached = new Set(servers.map(({ node, model }) => JSON.stringify([idOf(node), model])));
  return models
    .filter((other) => other.name !== name)
    .filter((other) =>
      other.servers.some(({ node, model }) => reached.has(JSON.stringify([idOf(node), model]))),
    )
    .map((other) => other.name);
}

function idOf({ metadata }: Server['node']): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function columns(withNamespace: boolean, name: string): Column<Server>[] {
  return [
    { title: 'TURN', cell: ({ turn }) => (turn === undefined ? '-' : String(turn)) },
    { title: 'NODE', cell: ({ node }) => (withNamespace ? idOf(node) : node.metadata.name) },
    {
      title: 'STATE',
      cell: ({ state }) => state,
      tint: ({ state, takesTraffic }) => (state === 'serves' ? 'good' : takesTraffic ? 'warn' : 'faint'),
    },
    { title: 'PHASE', cell: ({ node }) => node.status?.phase ?? 'unknown' },
    { title: 'PRIORITY', cell: ({ priority }) => String(priority) },
    { title: 'WEIGHT', cell: ({ weight }) => String(weight) },
    { title: 'SHARE', cell: ({ share }) => (share === undefined ? '-' : `${Math.round(share * 100)} %`) },
    { title: 'SENT AS', cell: ({ model }) => (model === name ? '-' : model) },
  ];
}
