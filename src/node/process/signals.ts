/** Signals to processes and their sessions. A process that has ended is no error. */
import { platform } from '../../platform.ts';
import { endTree } from './windows-tree.ts';

/** Signals a process group, or the process, if it does not lead a group yet; on Windows a tree of processes. */
export function signalSession(pid: number, signal: NodeJS.Signals | number): void {
  if (platform.isWindows) endTree(pid, signal);
  else if (!signalProcess(-pid, signal)) signalProcess(pid, signal);
}

/** Returns whether the process existed. */
export function signalProcess(pid: number, signal: NodeJS.Signals | number): boolean {
  // Never signal 0 (own process group), -1 (all processes) or 1 (init).
  if (!Number.isInteger(pid) || Math.abs(pid) < 2) return false;
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
