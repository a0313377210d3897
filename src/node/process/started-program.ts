/** A program that was started with descriptors of the agent, by the agent itself or by its launcher. */
import type { ChildProcess } from 'node:child_process';

export interface ProgramExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StartedProgram {
  readonly pid: number;
  readonly exited: Promise<ProgramExit>;
}

/** Its standard input, output and error. Without an input it reads /dev/null; a terminal is all three. */
export type ProgramFiles = readonly [input: number | undefined, output: number, errors: number];

export interface StartOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly files: ProgramFiles;
  /** Whether it gets its own session and process group. */
  readonly detached?: boolean;
}

/** Rejects when it could not be started. */
export async function startedProgram(child: ChildProcess): Promise<StartedProgram> {
  const exited = new Promise<ProgramExit>((resolve, reject) => {
    child.once('error', reject).once('exit', (code, signal) => resolve({ code, signal }));
  });
  // Later errors are about `kill()`, which is not used.
  child.on('error', () => undefined);
  exited.catch(() => undefined);
  if (!child.pid) await exited;
  return { pid: child.pid!, exited };
}
