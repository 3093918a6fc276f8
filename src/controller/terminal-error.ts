/** A reconcile that cannot succeed before something changes: it is not tried again until a change wakes it. */
export class TerminalError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TerminalError';
  }
}
