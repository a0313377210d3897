/** Commands that run beside each other, and end with this process. */
import { spawn } from 'node:child_process';

const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill();
});

/** Resolves when the command has ended, to the fields of `spawnSync`: `status`, `error`, `stdout` and `stderr`. */
export function finished(command, args, { timeout, ...options } = {}) {
  return new Promise((resolve) => {
    const signal = timeout === undefined ? undefined : AbortSignal.timeout(timeout);
    const child = spawn(command, args, { ...options, signal });
    const texts = { stdout: '', stderr: '' };
    const end = (ending) => {
      running.delete(child);
      resolve({ ...ending, ...texts });
    };
    running.add(child);
    for (const name of ['stdout', 'stderr'])
      child[name]?.setEncoding('utf8').on('data', (text) => {
        texts[name] += text;
      });
    child.on('error', (error) => end({ status: null, error }));
    child.on('close', (status) => end({ status, error: undefined }));
  });
}
