/** A line for who changed something that a tool keeps as Git has it. `managedBy` is undefined where none does. */
export function managedNotice(name: string, managedBy: string | undefined): string {
  if (managedBy === undefined) return '';
  return `${name} is managed by ${managedBy}, which may undo this; change it there too.\n`;
}

/** The same for who removed something. */
export function removedNotice(name: string, managedBy: string | undefined): string {
  if (managedBy === undefined) return '';
  return `${name} is managed by ${managedBy}, which may declare it again; remove it there too.\n`;
}
