import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    setupFiles: ['test/seed.ts'],
    // Misuse of shared memory and shared objects fails in tests; see src/switches.ts.
    env: { WHERRY_ASSERT: '1' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
