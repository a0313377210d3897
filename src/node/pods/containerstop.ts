/**
 * The stop of a container: brings one run to its end within a time. It may be wanted before there is a run to end.
 *
 *   wanted ──end()──▶ preStop hook ──done, or out of time──▶ asked (stop signal) ──out of time──▶ SIGKILL
 *
 * It only sends signals; the owner of the run closes it when it ends.
 */
import type { LifecycleHandler } from '../../api/generated/types.ts';
import type { RunningContainer } from '../runtime/runtime.ts';
import { runHook } from './hook.ts';
import type { ProbeTarget } from './probe.ts';

/** What a container gets after its preStop hook has used up the grace period. */
const lastWindowMs = 2_000;

export interface StopReason {
  /** What the event says instead of `Stopping container c`. */
  readonly message?: string;
  /** Whether it is to run again, whatever the policy says about how it ended. */
  readonly restart?: boolean;
  /** Without back-off: nothing was wrong with it. */
  readonly atOnce?: boolean;
}

export interface StopOptions {
  readonly reason: StopReason;
  readonly graceMs: number;
  /** A second of the spec in milliseconds. */
  readonly secondMs: number;
  readonly now: () => number;
  /** The preStop hook went wrong, or took too long. */
  readonly hookFailed: () => void;
}

export class ContainerStop {
  readonly reason: StopReason;
  #deadlineMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** Ends the wait for a preStop hook. */
  #giveUpHook: (() => void) | undefined;
  /** The run that has got its stop signal. */
  #asked: RunningContainer | undefined;
  #closed = false;

  constructor(private readonly options: StopOptions) {
    this.reason = options.reason;
    this.#deadlineMs = options.now() + options.graceMs;
  }

  /** There is a run to end now. */
  async end(target: ProbeTarget, preStop: LifecycleHandler | undefined): Promise<void> {
    const { graceMs, now } = this.options;
    const { container, running } = target;
    if (graceMs <= 0) return running.kill('SIGKILL');
    this.#armDeadline();
    if (preStop) {
      await this.#runPreStop(preStop, target);
      if (this.#closed) return;
      const leftMs = this.#deadlineMs - now();
      this.#deadlineMs += Math.max(0, Math.min(lastWindowMs, graceMs) - leftMs);
    }
    this.#asked = running;
    this.#armDeadline();
    running.kill((container.lifecycle?.stopSignal ?? 'SIGTERM') as NodeJS.Signals);
  }

  /** Leaves it this much time from now on, if that is less than it has. */
  hurry(graceMs: number): void {
    const deadlineMs = this.options.now() + graceMs;
    if (deadlineMs >= this.#deadlineMs) return;
    this.#deadlineMs = deadlineMs;
    this.#armDeadline();
  }

  /** The run has ended, or another stop is in charge of it. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#giveUpHook?.();
  }

  async #runPreStop(preStop: LifecycleHandler, target: ProbeTarget): Promise<void> {
    const { graceMs, secondMs, hookFailed } = this.options;
    const overdue = new Promise<string>((resolve) => {
      this.#giveUpHook = () => resolve('the grace period is over');
    });
    const waiting = new AbortController();
    const hook = runHook(preStop, target, { timeoutMs: graceMs, secondMs, gone: waiting.signal });
    const problem = await Promise.race([hook, overdue]);
    waiting.abort();
    this.#giveUpHook = undefined;
    if (problem !== undefined && !this.#closed) hookFailed();
  }

  #armDeadline(): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    const leftMs = Math.max(0, this.#deadlineMs - this.options.now());
    this.#timer = setTimeout(() => {
      if (this.#asked) this.#asked.kill('SIGKILL');
      else this.#giveUpHook?.();
    }, leftMs);
  }
}
