let key = '';

/** The key that models are tried with: in the memory of this page while it is open, and nowhere else. */
export const pastedKey = (): string => key;

export function pasteKey(text: string): void {
  key = text;
}
