/**
 * Processes on Windows, which has no signals, sessions or process groups: what a program has started is its tree, and
 * `taskkill` ends that. Written from the documentation of these programs, and not tried on Windows: see
 * docs/platforms.md.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/** Asks a tree to end, as its windows' close buttons do; ends it at once when killed. Programs without a window ignore the first. */
const endingOf = (pid: number, signal: NodeJS.Signals | number): readonly string[] => {
  const isKilled = signal === 'SIGKILL' || signal === constants.signals.SIGKILL;
  return ['taskkill', '/PID', String(pid), '/T', ...(isKilled ? ['/F'] : [])];
};

export function endTree(pid: number, signal: NodeJS.Signals | number): void {
  const [program, ...args] = endingOf(pid, signal);
  spawn(program!, args, { stdio: 'ignore', windowsHide: true }).on('error', () => undefined);
}

/** Prints when a process was started, in ticks; nothing when it does not exist. */
export const startQuery = (pid: number): readonly string[] => [
  'powershell',
  '-NoProfile',
  '-NonInteractive',
  '-Command',
  `(Get-Process -Id ${pid} -ErrorAction SilentlyContinue).StartTime.Ticks`,
];

/** The reaper's program: reads lines `+PID` and `-PID`, and ends the trees of all that are left when its input ends. */
export const reaperCommand: readonly string[] = [
  process.execPath,
  '-e',
  `const left = new Set();
require('node:readline').createInterface({ input: process.stdin })
  .on('line', (line) => left[line[0] === '+' ? 'add' : 'delete'](line.slice(1)))
  .on('close', () => {
    for (const pid of left)
      require('node:child_process').spawnSync('taskkill', ['/PID', pid, '/T', '/F'], { stdio: 'ignore', windowsHide: true });
  });`,
];
