import { readFileSync, statSync } from 'node:fs';

/**
 * The id of the process that holds a lock on a file, by `/proc/locks` (proc_locks(5)). Undefined if that is not known:
 * on other systems than Linux, for a process of another PID namespace, and on file systems that show another device there.
 */
export function lockHolder(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    // As glibc's gnu_dev_major and gnu_dev_minor.
    const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
    const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn & 0xffffffffn);
    const hex = (part: bigint) => part.toString(16).padStart(2, '0');
    const place = `${hex(major)}:${hex(minor)}:${ino}`;
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const [, , , mode, pid, where] = line.split(/ +/);
      if (where === place && mode === 'WRITE' && pid !== undefined && /^[1-9]\d*$/.test(pid)) return pid;
    }
  } catch {
    // Only the message is less exact.
  }
  return undefined;
}
