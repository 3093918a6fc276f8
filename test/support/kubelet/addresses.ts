import process from 'node:process';

/** Loopback addresses that no other test process takes: 127.A.B.n with A and B from the process id. */
export function loopbackAddresses(): () => string {
  const { pid } = process;
  let last = 0;
  return () => {
    last += 1;
    if (last > 250) throw new Error('more than 250 pods and Services in one test file');
    return `127.${64 + ((pid >> 8) % 128)}.${pid % 256}.${last}`;
  };
}

/** The address that a pod's status tells: the API server takes no loopback address as an endpoint of a Service. */
export const toldAddress = (loopback: string): string => loopback.replace(/^127\./, '10.');

/** Where it is really reached. */
export const loopbackOf = (told: string): string => told.replace(/^10\./, '127.');
