import { ConversionError } from '../../convert/conversion-error.ts';
import { dialectOf } from '../../routing/candidate-dialect.ts';
import type { Candidate } from '../../store/store.ts';
import type { ModelRequest } from '../admission/model-request.ts';
import { stillThere } from '../answer/caller-gone.ts';
import { type LargeWork, largeBytes } from '../thread/large-work.ts';
import type { Conversion } from './conversion.ts';

/** Converting this many bytes, besides long texts, which are not read, takes about a millisecond. */
const largeRest = 64 * 1024;

/** A long text takes about as long as this many bytes of the rest. */
const textRest = 160;

/** Whether the conversion of a request would block the event loop for too long. */
export function isLarge({ body: { size }, inspection: { longStrings } }: ModelRequest): boolean {
  if (size <= largeRest) return false;
  if (size > largeBytes) return true;
  let rest = size;
  for (let at = 0; at < longStrings.length; at += 2)
    rest -= (longStrings[at + 1] ?? 0) - (longStrings[at] ?? 0) - textRest;
  return rest > largeRest;
}

/** `Conversion.prepare` in the thread. */
export async function prepareLarge(
  work: LargeWork,
  request: ModelRequest,
  conversion: Conversion,
  candidate: Candidate,
): Promise<ConversionError | undefined> {
  const { model } = candidate;
  const asked = { model, dialect: dialectOf(candidate), strict: conversion.strict };
  const result = await work.run('convert', ownedBy(request), () => lent(request, conversion, asked));
  request.body.putBack(result.bytes);
  if ('refusal' in result) return new ConversionError(result.refusal);
  conversion.take(candidate, result);
  return undefined;
}

/** `Conversion.needsNative` in the thread. */
export async function needsNativeLarge(
  work: LargeWork,
  request: ModelRequest,
  conversion: Conversion,
): Promise<boolean> {
  const { bytes, native } = await work.run('needsNative', ownedBy(request), () =>
    lent(request, conversion, {}),
  );
  request.body.putBack(bytes);
  return native;
}

function lent<A extends object>(
  { body, caller }: ModelRequest,
  { format, scanned: { longStrings, oddNumbers } }: Conversion,
  asked: A,
) {
  stillThere(caller);
  const bytes = body.lendBytes();
  const wish = { ...asked, bytes, format, scanned: { longStrings, oddNumbers } };
  return { wish, transfer: [bytes.buffer] };
}

function ownedBy({ share: { owner }, body: { size } }: ModelRequest) {
  return { owner, bytes: size };
}
