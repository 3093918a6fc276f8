import type { DeclarationErrorReason } from './edit/declarations.ts';

/** What the exit code of a command means. Programs rely on it: a code never gets another meaning. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  forbidden: 4,
  conflict: 5,
  invalid: 6,
  unavailable: 7,
  timeout: 8,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The table of `help exit-codes`. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'done; a reader of the output that went away (| head) counts as done',
  failed: 'failed; or several names failed, for different reasons',
  usage: 'wrong usage: a flag, an argument, or a question without a terminal',
  notFound: 'not found',
  forbidden: 'refused: this user has no permission',
  conflict: 'conflict: it exists already, or another person changed or owns it',
  invalid: 'refused: the request is not valid',
  unavailable: 'the cluster or the folder cannot be reached or read',
  timeout: 'not finished in time',
  interrupted: 'interrupted with Ctrl-C',
};

/** The exit code for a read or write that did not succeed. */
export function exitCodeOf(reason: DeclarationErrorReason): ExitCode {
  return codeOfReason[reason];
}

const codeOfReason: Readonly<Record<DeclarationErrorReason, ExitCode>> = {
  NotFound: exitCodes.notFound,
  AlreadyExists: exitCodes.conflict,
  Conflict: exitCodes.conflict,
  Forbidden: exitCodes.forbidden,
  Invalid: exitCodes.invalid,
  Unavailable: exitCodes.unavailable,
};
