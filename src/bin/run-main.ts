import process from 'node:process';

const oldest = [22, 19] as const;

/**
 * Checks the version of Node.js and runs `main.ts`, which reads the name that the program was called by. Each command of
 * the npm package has a file of its own, because Windows runs a file and not a link to it.
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
  // After the check, because an older Node.js would fail on a file that it cannot parse, with an unclear message.
  await import('../main.ts');
}

/** Hides the warning of Node.js 22 that a feature is experimental. Our tests run on that version too. */
function leaveOutWarningsOf(feature: string): void {
  const printers = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name === 'ExperimentalWarning' && warning.message.startsWith(feature)) return;
    for (const print of printers) print(warning);
  });
}
