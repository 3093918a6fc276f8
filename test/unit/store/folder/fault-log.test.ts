import { expect, test } from 'vitest';
import { createLog } from '../../../../src/observe/log.ts';
import { FaultLog } from '../../../../src/store/folder/fault-log.ts';

const failure = (code: string, message: string) => Object.assign(new Error(message), { code });

test('a fault is logged when it begins, when it becomes another one and when it ends', () => {
  const lines: unknown[][] = [];
  const destination = {
    write: (line: string) => {
      const { level, msg, folder } = JSON.parse(line);
      lines.push([level, msg, folder]);
    },
  };
  const log = createLog({ level: 'info', format: 'json', role: 'test', destination });
  const faults = new FaultLog(log, { begins: 'It fails', ends: 'It works again' });
  const fields = { folder: '/data' };
  faults.worked(fields);
  for (const name of ['.tmp-1', '.tmp-2']) faults.failed(failure('ENOSPC', name), fields);
  for (const name of ['.tmp-3', '.tmp-4']) faults.failed(failure('EIO', name), fields);
  faults.worked(fields);
  faults.worked(fields);
  faults.failed(failure('EIO', '.tmp-5'), fields);
  expect(lines).toEqual([
    ['error', 'It fails', '/data'],
    ['error', 'It fails', '/data'],
    ['info', 'It works again', '/data'],
    ['error', 'It fails', '/data'],
  ]);
});
