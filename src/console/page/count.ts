/** How many are shown, of how many: `5 models`, `1 of 5 models`, `1 node`. */
export function countOf(shown: number, all: number, noun: string): string {
  return `${shown === all ? '' : `${shown} of `}${all} ${all === 1 ? noun : `${noun}s`}`;
}
