/** A reconcile that cannot succeed until something changes: it is not retried before the next change. */
export class TerminalError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TerminalError';
  }
}
