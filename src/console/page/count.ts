/** How many are shown, of how many: `5 models`, `1 of 5 models`, `1 node`. */
export function countOf(shown: number, all: number, noun: string): string {
  return `${shown === all ? '' : `${shown} of `}${all} ${all === 1 ? noun : `${noun}s`}`;
}

/** Enabled models of all, as `nodes` prints them: `12`, or `8/12` if some are disabled. */
export function enabledOf(enabled: number, all: number): string {
  return enabled === all ? String(all) : `${enabled}/${all}`;
}
