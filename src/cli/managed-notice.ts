const advice = {
  changed: 'which may undo this; change it there too',
  removed: 'which may declare it again; remove it there too',
} as const;

/** A line for people who changed or removed a resource that a tool will restore from Git. Empty without `managedBy`. */
export function managedNotice(
  name: string,
  managedBy: string | undefined,
  what: keyof typeof advice = 'changed',
): string {
  return managedBy === undefined ? '' : `${name} is managed by ${managedBy}, ${advice[what]}.\n`;
}
