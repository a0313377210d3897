/** The public surface of the package. */
export { type Cluster, StartError, type StartOptions, start } from './start.ts';
