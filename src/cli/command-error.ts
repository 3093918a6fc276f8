import { type ExitCode, exitCodes } from './exit-codes.ts';

/** A command that ends without success. The message goes to stderr; an empty one means that everything was printed already. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Wrong usage: of flags, arguments, or of a prompt that nobody can answer. */
export function usageError(message: string): CommandError {
  return new CommandError(exitCodes.usage, message);
}
