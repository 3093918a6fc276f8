import type { AddCommand } from '../add-command.ts';
import { addModelShow } from './show.ts';
import { addModelSwitches } from './switch.ts';

/** `model …` */
export const addModel: AddCommand = (program, context) => {
  const group = program
    .command('model')
    .description('Shows single models, and switches them on and off on a node.');
  addModelShow(group, context);
  addModelSwitches(group, context);
};
