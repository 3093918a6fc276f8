/** The caller closed its connection: nobody is left to answer. */
export class CallerGone extends Error {
  constructor() {
    super('the caller closed the connection');
    this.name = 'CallerGone';
  }
}
