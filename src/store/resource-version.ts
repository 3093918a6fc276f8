/**
 * Whether a resourceVersion is the same as another of the same kind, or later. They are numbers that grow (KEP-5504; so they
 * were on etcd before). Of versions that are no numbers nothing is known, and the answer is no.
 */
export function isAtLeast(version: string, other: string): boolean {
  if (!digits.test(version) || !digits.test(other)) return false;
  return BigInt(version) >= BigInt(other);
}

const digits = /^\d{1,20}$/;
