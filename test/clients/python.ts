/** Runs Python scripts of this folder, with the official client. */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';

/** The system's Python: a Debian package is not visible to any other. */
const python = '/usr/bin/python3';

/** Runs a script with the kubeconfig of an environment. */
export function runPython(script: string, home: NodeJS.ProcessEnv, ...args: string[]): ChildProcess {
  const env = { ...home, TMPDIR: home.HOME, PYTHONDONTWRITEBYTECODE: '1' };
  return spawn(python, [path.join(import.meta.dirname, script), ...args], { env, stdio: 'pipe' });
}

/** All that it writes, when it is given an object. */
export async function outputOf(
  child: ChildProcess,
  given: object,
): Promise<{ stdout: string; stderr: string }> {
  child.stdin!.on('error', () => undefined).end(JSON.stringify(given));
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  return { stdout, stderr };
}
