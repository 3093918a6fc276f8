import type { Entry } from '../cli/program.ts';

/** `console`, as the program for people lists it: its room is above theirs. */
export const consoleCommand: Entry = {
  summary: 'the administration interface, in your browser',
  load: async () => (await import('../console/command.ts')).addConsole,
};
