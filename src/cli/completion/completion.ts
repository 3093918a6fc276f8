import { Argument } from 'commander';
import type { AddCommand } from '../add-command.ts';
import { explained } from '../help.ts';
import { shellScripts } from './shell-scripts.ts';

/** `completion` */
export const addCompletion: AddCommand = (program, context) => {
  const command = program
    .command('completion')
    .description('Prints a script that lets a shell complete commands, flags and names.')
    .addArgument(new Argument('<shell>').choices(Object.keys(shellScripts)))
    .action((shell: keyof typeof shellScripts) => {
      context.out.write(shellScripts[shell]);
    });
  explained(command, {
    notes: [
      '',
      'bash, zsh: put  source <(model-gateway completion bash)  into ~/.bashrc',
      '(zsh: ~/.zshrc); fish: save it in ~/.config/fish/completions.',
      'kubectl completes its plugin where kubectl_complete-modelgateway is in PATH.',
    ],
    examples: ['completion bash', 'completion zsh'],
  });
};
