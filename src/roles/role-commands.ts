import type { Entry } from '../cli/program.ts';
import { roleSummaries } from './role-summaries.ts';

/** The commands that `run-role.ts` runs, as the program for people lists and completes them; their flags are loaded for that alone. */
export const roleCommands: Readonly<Record<keyof typeof roleSummaries, Entry>> = {
  start: entry('start'),
  standalone: entry('standalone'),
  controller: entry('controller'),
  gateway: entry('gateway'),
  seal: entry('seal'),
};

function entry(name: keyof typeof roleSummaries): Entry {
  return {
    summary: roleSummaries[name],
    load: async () => (await import('./role-flags.ts')).addRole(name),
  };
}
