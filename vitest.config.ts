import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'vitest/config';
import { buildThread } from './scripts/thread.mjs';

/** Node cannot start a thread from TypeScript, so the one that writes to LMDB is built for the tests of the sources. */
const folder = mkdtempSync(path.join(tmpdir(), 'wherry-tests-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const lmdbThread = pathToFileURL(await buildThread(folder)).href;

export default defineConfig({
  define: { lmdbThreadFile: JSON.stringify(lmdbThread) },
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
