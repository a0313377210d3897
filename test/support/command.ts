/** Runs the built command in tests: to its end, or as a server that is stopped after the test. */
import { isAbsolute } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { readCommandLine } from '../../src/cli/options.ts';
import { StartError, start } from '../../src/cluster/index.ts';
import { UsageError } from '../../src/program/usage-error.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { Child, type Exit, useChildren } from './child.ts';
import { Client } from './http.ts';
import { isRelease } from './tier.ts';

export const inMemory = ['--port', '0', '--in-memory'];

export interface Run extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

/** Expects failure with one sentence on stderr, and no other output. */
export function expectSentence({ code, stdout, stderr }: Run, says: RegExp): void {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^wherry: [^\n]+\n$/);
  expect(stderr).toMatch(says);
}

export async function stop(child: Child, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  child.signal(signal);
  expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
  expect(child.stderr).toBe('');
}

/** Errors that the command tells in a sentence. */
const refusals = [UsageError, StartError, StoreUnavailableError];

/**
 * What the command says of a line that is wrong in itself, or of a start that is refused; undefined for any other, and for
 * a cluster that would get a record, or have its data where the command runs.
 */
async function refusal(args: readonly string[]): Promise<Run | undefined> {
  try {
    const line = readCommandLine(args, { environment: process.env });
    if (line.command !== 'up' && line.command !== 'serve') return undefined;
    const { dataDir } = line.start;
    if (('named' in line && line.named) || (dataDir !== undefined && !isAbsolute(dataDir))) return undefined;
    const cluster = await start(line.start);
    await cluster.nodesReady.finally(() => cluster.close());
    return undefined;
  } catch (error) {
    if (!refusals.some((kind) => error instanceof kind)) throw error;
    return { code: 1, signal: null, stdout: '', stderr: `wherry: ${(error as Error).message}\n` };
  }
}

export interface Answering {
  readonly url: string;
  readonly client: Client;
  /** Ends it, and expects that it has reported no error. */
  end(): Promise<void>;
}

async function answeringProcess(
  args: readonly string[],
  children: ReturnType<typeof useChildren>,
): Promise<Answering> {
  const child = new Child(['serve', ...args], await children.folder());
  const url = await child.ready();
  return { url, client: new Client(url), end: () => stop(child) };
}

async function answeringHere(...args: string[]): Promise<Answering> {
  const line = readCommandLine(['serve', ...args], { environment: process.env });
  if (line.command !== 'serve') throw new Error(`not a server: ${line.command}`);
  const errors: Error[] = [];
  const cluster = await start({ ...line.start, onError: (error) => errors.push(error) });
  onTestFinished(() => cluster.close());
  return {
    url: cluster.url,
    client: new Client(cluster.url),
    end: async () => {
      await cluster.close();
      expect(errors).toEqual([]);
    },
  };
}

export function useCommand() {
  const children = useChildren();
  const runProcess = async (...args: string[]): Promise<Run> => {
    const child = new Child(args, await children.folder());
    const exit = await child.exited;
    return { ...exit, stdout: child.stdout, stderr: child.stderr };
  };
  return {
    children,
    /** A run that ends by itself. */
    run: runProcess,
    /** The same, without a process for a line or a start that is refused; before a release it has one. */
    refused: async (...args: string[]): Promise<Run> =>
      (isRelease ? undefined : await refusal(args)) ?? runProcess(...args),
    /** A server with the options of `wherry serve`: in this process, and before a release in one of its own. */
    answering: isRelease ? (...args: string[]) => answeringProcess(args, children) : answeringHere,
    serving: async (...args: string[]): Promise<{ child: Child; url: string; client: Client }> => {
      const child = new Child(args, await children.folder());
      const url = await child.ready();
      return { child, url, client: new Client(url) };
    },
  };
}
