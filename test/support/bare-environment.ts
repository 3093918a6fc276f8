/**
 * What processes of the product get of this one's environment: nothing of the user's own settings. Where Node.js keeps what it
 * compiled is given on, which saves a third of each start's work.
 */
export function bareEnvironment(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? { PATH } : { PATH, NODE_COMPILE_CACHE };
}
