import * as z from 'zod';
import { ApiError } from './api-error.ts';
import { microTime } from './micro-time.ts';

const SPEC = z.looseObject({
  holderIdentity: z.string().nullish(),
  leaseDurationSeconds: z.number().nullish(),
  acquireTime: z.string().nullish(),
  renewTime: z.string().nullish(),
  leaseTransitions: z.number().nullish(),
});

/** The members of a Lease that we use. Unknown members are kept, so that writing it back loses none. */
const LEASE = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string() }),
  spec: SPEC.optional(),
});

export type Lease = z.infer<typeof LEASE>;

/** @throws ApiError `InvalidResponse` when the answer is not a Lease */
export function readLease(answer: unknown): Lease {
  const { data } = LEASE.safeParse(answer);
  if (data === undefined) throw new ApiError(0, 'InvalidResponse', 'the API server answered with no Lease');
  return data;
}

/** The spec with which `identity` holds the lease from `now` on. A holder that renews keeps its acquire time. */
export function heldSpec(before: Lease['spec'], identity: string, durationSeconds: number, now: Date) {
  const same = before?.holderIdentity === identity;
  const changes = before?.leaseTransitions ?? 0;
  return {
    ...before,
    holderIdentity: identity,
    leaseDurationSeconds: durationSeconds,
    acquireTime: same && before.acquireTime ? before.acquireTime : microTime(now),
    renewTime: microTime(now),
    leaseTransitions: same || before === undefined ? changes : changes + 1,
  };
}

/** The spec with which the holder gives the lease up, so that the next holder need not wait. */
export function releasedSpec(before: Lease['spec'], now: Date) {
  return { ...before, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(now) };
}
