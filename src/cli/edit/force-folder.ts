import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Forces to disk what a folder lists: a file that was renamed or deleted is so after a power cut too. */
export async function forceFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
