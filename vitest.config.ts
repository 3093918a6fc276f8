import { defineConfig } from 'vitest/config';

// unit: pure code, no sockets but loopback ones, seconds. wire: real sockets and SDKs. crds, cluster: a real API server.
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 10_000 } },
      {
        test: { name: 'wire', include: ['test/wire/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
      },
      {
        test: {
          name: 'crds',
          include: ['test/crds/**/*.test.ts'],
          globalSetup: ['test/support/control-plane-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          globalSetup: ['test/support/control-plane-setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
