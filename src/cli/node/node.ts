import type { AddCommand } from '../add-command.ts';
import { nodeWords } from '../named.ts';
import { addRemove } from '../remove-command.ts';
import { addShow } from '../show-command.ts';
import { addSwitches } from '../switch-commands.ts';
import { addNodeAdd } from './add.ts';
import { addNodeEdit } from './edit.ts';
import { addNodeSync } from './sync.ts';
import { nodeText } from './text.ts';

/** `node …` */
export const addNode: AddCommand = (program, context) => {
  const group = program.command('node').description('Shows, declares and changes single nodes.');
  addShow([group, context], nodeWords, {
    summary: 'everything about one node',
    description: 'Shows everything about one node: what is declared, what was found, every model.',
    example: 'openai',
    text: nodeText,
  });
  addNodeAdd(group, context);
  addNodeEdit(group, context);
  addSwitches(
    [group, context],
    nodeWords,
    [
      {
        verb: 'enable',
        summary: 'let nodes take requests',
        description: 'Lets nodes take requests again.',
      },
      {
        verb: 'disable',
        summary: 'take nodes out of routing, without deleting them',
        description: 'Takes nodes out of routing without deleting them; requests in flight finish.',
      },
    ],
    ['openai', 'old-server'],
  );
  addRemove([group, context], nodeWords, {
    verb: 'delete',
    summary: 'delete nodes',
    description: 'Deletes nodes: requests stop going there at once, those in flight finish.',
    examples: ['node delete old-server --dry-run', 'node delete old-server --yes'],
  });
  addNodeSync(group, context);
};
