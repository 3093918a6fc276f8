import { productVersion } from '../observe/version.ts';
import { explained } from './help.ts';
import type { AddCommand } from './program.ts';

/** `version` */
export const addVersion: AddCommand = (program, context) => {
  const command = program
    .command('version')
    .description('Prints the version of this program.')
    .action(() => {
      context.out.write(`${context.calledAs} ${productVersion()}\n`);
    });
  explained(command, { examples: ['version', 'version'] });
};
