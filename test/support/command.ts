/** Runs the built command in tests: to its end, or as a server that is stopped after the test. */
import { expect } from 'vitest';
import { Child, type Exit, useChildren } from './child.ts';
import { Client } from './http.ts';

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

export function useCommand() {
  const children = useChildren();
  return {
    children,
    /** A run that ends by itself. */
    run: async (...args: string[]): Promise<Run> => {
      const child = new Child(args, await children.folder());
      const exit = await child.exited;
      return { ...exit, stdout: child.stdout, stderr: child.stderr };
    },
    serving: async (...args: string[]): Promise<{ child: Child; url: string; client: Client }> => {
      const child = new Child(args, await children.folder());
      const url = await child.ready();
      return { child, url, client: new Client(url) };
    },
  };
}
