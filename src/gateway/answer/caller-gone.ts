/** The caller closed its connection before it was answered. */
export class CallerGone extends Error {
  constructor() {
    super('the caller closed the connection');
    this.name = 'CallerGone';
  }
}

/** Throws CallerGone if the caller has left. */
export function stillThere({ gone }: { readonly gone: boolean }): void {
  if (gone) throw new CallerGone();
}
