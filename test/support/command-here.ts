/** Runs commands that end by themselves in the process of the test, where a process of their own would add nothing. */
import { readFileSync } from 'node:fs';
import { runLifecycle } from '../../src/cli/lifecycle.ts';
import { readCommandLine } from '../../src/cli/options.ts';
import { runSnapshot } from '../../src/cli/snapshot-command.ts';
import { writeUserKubeconfig } from '../../src/cluster/access/user-kubeconfig.ts';
import { userFolders } from './child.ts';
import type { Run } from './command.ts';
import { isRelease } from './tier.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** What a command prints, and how it ends, for the user whose folder this is. Paths in its line must be absolute. */
export async function runHere(args: readonly string[], folder: string): Promise<Run> {
  const { stdout } = process;
  const { write } = stdout;
  const former = { ...process.env };
  let printed = '';
  const print = (text: string): boolean => {
    printed += text;
    return true;
  };
  Object.assign(process.env, userFolders(folder));
  stdout.write = print as typeof write;
  try {
    const line = readCommandLine(args, { environment: process.env });
    if (line.command === 'kubeconfig') print(await writeUserKubeconfig(line));
    else if (line.command === 'snapshot') print(await runSnapshot(line));
    else if ('json' in line) await runLifecycle(line, version);
    else throw new TypeError(`not in this process: ${line.command}`);
    return { code: 0, signal: null, stdout: printed, stderr: '' };
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return { code: 1, signal: null, stdout: printed, stderr: `wherry: ${(error as Error).message}\n` };
  } finally {
    stdout.write = write;
    for (const name of Object.keys(userFolders(folder)))
      if (former[name] === undefined) delete process.env[name];
      else process.env[name] = former[name];
  }
}

/**
 * Tells which lines need no process with `npm test`: those of a command that has had one, unless it starts a cluster, asks
 * at a terminal, or means the cluster of the folder in which it runs.
 */
export function afterFirst(): (line: readonly string[]) => boolean {
  const inProcess = new Set<string>();
  return ([command = '', ...more]) => {
    if (isRelease || ['restart', 'up'].includes(command)) return false;
    if (command === 'delete' && !more.includes('--yes')) return false;
    if (command === 'status' && more.length === 0) return false;
    if (inProcess.has(command)) return true;
    inProcess.add(command);
    return false;
  };
}
