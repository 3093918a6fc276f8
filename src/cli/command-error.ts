import type { ExitCode } from './exit-codes.ts';

/** A command that ends without success. The message goes to stderr as it is; an empty one says that all was said. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
