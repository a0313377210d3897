/** The contents of the built package: one script for `import`, for `require` and for the command. */
export * from '../cluster/index.ts';
export { serveInPlace } from '../envtest/inplace.ts';
export * as testing from '../testing/index.ts';
export { runCommand } from './main.ts';
