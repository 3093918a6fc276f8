import process from 'node:process';

const oldest = [22, 19] as const;

/**
 * Runs the program under the name that it was called by, which `main.ts` looks at. The three commands of the npm
 * package have a file of their own each, because Windows calls a file and not a link to it.
 */
export async function runMain(): Promise<void> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
    process.stderr.write(
      `model-gateway: Node.js ${process.versions.node} is too old; install ${oldest.join('.')} or newer (https://nodejs.org).\n`,
    );
    process.exit(1);
  }
  if (major < 24) leaveOutWarningsOf('SQLite');
  // Not before the check: an older Node.js fails on the first file that it cannot parse, with a text that says nothing.
  await import('../main.ts');
}

/** Node.js 22 calls it an experiment, on the screen of whoever starts this; the lock that it is used for is tested there. */
function leaveOutWarningsOf(feature: string): void {
  const printers = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name === 'ExperimentalWarning' && warning.message.startsWith(feature)) return;
    for (const print of printers) print(warning);
  });
}
