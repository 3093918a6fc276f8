const advice = {
  changed: 'which may undo this; change it there too',
  removed: 'which may declare it again; remove it there too',
} as const;

/** A line for who changed or removed something that a tool keeps as Git has it. `managedBy` is undefined where none does. */
export function managedNotice(
  name: string,
  managedBy: string | undefined,
  what: keyof typeof advice = 'changed',
): string {
  return managedBy === undefined ? '' : `${name} is managed by ${managedBy}, ${advice[what]}.\n`;
}
