import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Writes the entries of a folder to disk, so that a renamed or deleted file stays so after a power cut. */
export async function forceFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
