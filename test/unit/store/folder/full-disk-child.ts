import { StateFile } from '../../../../src/store/folder/state-file.ts';

// Writes a little, more than its limit allows, and a little again; says which of them succeeded.
const state = StateFile.open(process.argv[2] ?? '');
const put = async (what: string, id: string, length: number): Promise<void> => {
  const done = await state.write([{ table: 'secret', id, text: 'x'.repeat(length) }]).then(
    () => 'ok',
    () => 'refused',
  );
  process.stdout.write(`${what} ${done}\n`);
};
await put('small', 'first', 1_000);
await put('large', 'large', 4_000_000);
await put('small', 'second', 1_000);
state.close();
