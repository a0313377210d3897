/** What the built package is made of: one script for `import`, for `require` and for the command. */
export * from '../cluster/index.ts';
export { runCommand } from './main.ts';
