import type { ScaleRow } from './row.ts';
import { changes } from './rows/changes.ts';
import { controller } from './rows/controller.ts';
import { models } from './rows/models.ts';
import { newKeys } from './rows/new-keys.ts';
import { ready } from './rows/ready.ts';
import { replay } from './rows/replay.ts';
import { watchers } from './rows/watchers.ts';

/** All rows, in the order in which they run; what 300 watches leave in the API server's memory comes last. */
export const rows: readonly ScaleRow[] = [ready, models, newKeys, changes, replay, controller, watchers];
