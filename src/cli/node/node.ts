import type { AddCommand } from '../add-command.ts';
import { addNodeAdd } from './add.ts';
import { addNodeDelete } from './delete.ts';
import { addNodeEdit } from './edit.ts';
import { addNodeShow } from './show.ts';
import { addNodeSwitches } from './switch.ts';
import { addNodeSync } from './sync.ts';

/** `node …` */
export const addNode: AddCommand = (program, context) => {
  const group = program.command('node').description('Shows, declares and changes single nodes.');
  addNodeShow(group, context);
  addNodeAdd(group, context);
  addNodeEdit(group, context);
  addNodeSwitches(group, context);
  addNodeDelete(group, context);
  addNodeSync(group, context);
};
