/** The options of `wherry test`: those of a server that keeps its objects in memory, and what belongs to a test run. */
import type { StartOptions } from '../cluster/index.ts';
import type { LogForm } from './options.ts';
import { storeArgs } from './store-flags.ts';

export interface TestLine {
  readonly command: 'test';
  readonly start: StartOptions;
  /** Serve the test kit. */
  readonly testing: boolean;
  readonly log: LogForm;
  /** The program to run, and its arguments. */
  readonly program: readonly string[];
  /** Leave the cluster running when the program fails. */
  readonly keeps: boolean;
}

/** For `parseArgs`. */
export const testArgs = { 'keep-on-failure': { type: 'boolean', for: ['test'] } } as const;

export const testHelp = `  --keep-on-failure     leave the cluster running when the command fails, and say how to look inside
  The cluster is in memory, runs all controllers, and has a free port and no secure door. The options of serve change
  this, those of its store and data folder excepted; --simulated-nodes N adds nodes.
`;

/** Values that hold when none are given. */
export const testDefaults = { port: '0', 'secure-port': 'off', 'in-memory': true } as const;

const storeNames: ReadonlySet<string> = new Set(['data-dir', ...Object.keys(storeArgs)]);

/** @param commands that take the option */
export const isTestOption = (name: string, commands: readonly string[]): boolean =>
  commands.includes('test') || (commands.includes('serve') && !storeNames.has(name));

/** What is before `--`, and the command after it; undefined: there is no `--`. */
export function splitTestLine(args: readonly string[]): {
  readonly options: readonly string[];
  readonly program: readonly string[] | undefined;
} {
  const at = args.indexOf('--');
  return at < 0
    ? { options: args, program: undefined }
    : { options: args.slice(0, at), program: args.slice(at + 1) };
}
