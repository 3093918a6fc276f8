import type { AddCommand } from '../add-command.ts';
import { addModelEdit } from './edit.ts';
import { addModelShow } from './show.ts';
import { addModelSwitches } from './switch.ts';

/** `model …` */
export const addModel: AddCommand = (program, context) => {
  const group = program
    .command('model')
    .description('Shows single models, changes their cards, switches them on and off.');
  addModelShow(group, context);
  addModelEdit(group, context);
  addModelSwitches(group, context);
};
