/**
 * Runs before the tests of every file. Files may share a worker, so each begins with real timers and with nothing
 * replaced. Generated tests use a fixed seed, so that a run can be repeated. `WHERRY_SEED=<number>` sets another; a
 * failure prints its seed.
 */
import fc from 'fast-check';
import { vi } from 'vitest';

vi.useRealTimers();
vi.restoreAllMocks();
vi.unstubAllEnvs();
vi.unstubAllGlobals();
fc.configureGlobal({ seed: Number(process.env.WHERRY_SEED ?? 20261115) });
