/**
 * The contents of the built package: one script for `import`, for `require` and for the programs, of which a start runs
 * one at most.
 */
import type { runApiServer as RunApiServer } from '../envtest/apiserver.ts';

export * from '../cluster/index.ts';
export * as testing from '../testing/index.ts';

export const runCommand = async (): Promise<void> => (await import('./main.ts')).runCommand();

export const runApiServer: typeof RunApiServer = async (...given) =>
  (await import('../envtest/apiserver.ts')).runApiServer(...given);
