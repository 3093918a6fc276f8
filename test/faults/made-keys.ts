import type { Served } from './served.ts';

/** Makes a key through `/v1/keys`; undefined where it was not answered with 201. */
export async function makeKey(served: Served): Promise<string | undefined> {
  const { status, text } = await served.ask({ key: served.master, path: '/keys', body: {} });
  return status === 201 ? (JSON.parse(text) as { value: string }).value : undefined;
}

/** How many of these keys open. */
export async function opening(served: Served, keys: readonly string[]): Promise<number> {
  const answers = await Promise.all(keys.map((key) => served.ask({ key, path: '/models' })));
  return answers.filter(({ status }) => status === 200).length;
}

/** Makes a key that must be answered. @throws when it is not */
export async function madeKey(served: Served): Promise<string> {
  const key = await makeKey(served);
  if (key === undefined) throw new Error('no key was made');
  return key;
}
