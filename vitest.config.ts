import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.ts';

// Most tests on an API server wait for something to happen, so more of them than there are cores. Projects that have the same
// number run side by side.
const apiServerWorkers = 5;

// unit: pure code, no sockets but loopback ones, seconds. wire: real sockets and SDKs. crds, cluster: a real API server.
// proof: many nodes at once, and the short forms of `npm run bench -- --peers`, `faults`, `scale`, `soak` and `fuzz`. chart: Helm onto a real API server. console: a real browser. delivery: the npm package and the image's files. telemetry: a real Prometheus.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          testTimeout: 30_000,
          maxWorkers: 2,
          // Loading the sources anew for each of a hundred files would be a third of the time.
          isolate: false,
        },
      },
      {
        test: {
          name: 'wire',
          include: ['test/wire/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 3,
        },
      },
      {
        test: {
          name: 'crds',
          include: ['test/crds/**/*.test.ts'],
          globalSetup: ['test/support/control-plane/setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: apiServerWorkers,
        },
      },
      {
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          globalSetup: ['test/support/control-plane/setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          maxWorkers: apiServerWorkers,
        },
      },
      {
        test: {
          name: 'proof',
          include: ['test/proof/**/*.test.ts'],
          globalSetup: ['test/support/control-plane/setup.ts'],
          testTimeout: 150_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          // They load the machine and judge what it does then: what is ours fails twice.
          retry: 1,
        },
      },
      {
        test: {
          name: 'chart',
          include: ['test/chart/**/*.test.ts'],
          globalSetup: ['test/support/control-plane/setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // They wait for pods and Helm most of the time.
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'delivery',
          include: ['test/delivery/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 600_000,
          maxWorkers: 1,
        },
      },
      {
        test: {
          name: 'telemetry',
          include: ['test/telemetry/**/*.test.ts'],
          globalSetup: ['test/support/control-plane/setup.ts'],
          testTimeout: 120_000,
          // Prometheus may have to be built first.
          hookTimeout: 1_800_000,
          maxWorkers: 1,
        },
      },
      {
        test: {
          name: 'console',
          include: ['test/console/**/*.test.ts'],
          globalSetup: ['test/support/control-plane/setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
          maxWorkers: 2,
        },
      },
    ],
  },
});
