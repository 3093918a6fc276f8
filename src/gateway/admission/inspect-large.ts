import { stillThere } from '../answer/caller-gone.ts';
import { GatewayError } from '../errors/errors.ts';
import type { LargeWork } from '../thread/large-work.ts';
import type { RequestBody } from './body.ts';
import type { BufferShare } from './buffer-budget.ts';
import type { Inspection } from './inspect.ts';
import type { InspectOptions } from './inspect-body.ts';

/** Joins a large body and inspects it, in the thread. Throws GatewayError as `inspect` does, or CallerGone. */
export async function inspectLarge(
  work: LargeWork,
  caller: { readonly gone: boolean },
  body: RequestBody,
  { owner }: BufferShare,
  options: InspectOptions,
): Promise<Inspection> {
  const result = await work.run('inspect', { owner, bytes: body.size }, () => {
    stillThere(caller);
    const taken = body.takePieces();
    if (taken === undefined) throw new Error('a body was inspected twice');
    const { pieces, own } = taken;
    return { wish: { pieces, options }, transfer: own };
  });
  if ('error' in result) {
    const { code, message, param } = result.error;
    throw new GatewayError(code, message, { param });
  }
  body.putBack(result.bytes);
  return result.inspection;
}
