/**
 * The stop of a container: ends one run within a grace period. It may be requested before the run has started.
 *
 *   requested ──end()──▶ preStop hook ──done, or out of time──▶ stop signal sent ──out of time──▶ SIGKILL
 *
 * It only sends signals; the owner of the run closes it when it ends.
 */
import type { LifecycleHandler } from '../../api/generated/types.ts';
import type { Timer, Timers } from '../../timers.ts';
import type { RunningContainer } from '../runtime/runtime.ts';
import { runHook } from './hook.ts';
import type { ProbeTarget } from './probe.ts';

/** Minimum time a container gets for its stop signal when its preStop hook has used up the grace period. */
const lastWindowMs = 2_000;

export interface StopReason {
  /** Text of the event in place of `Stopping container c`. */
  readonly message?: string;
  /** Run the container again, whatever its restart policy says. */
  readonly restart?: boolean;
  /** Restart without back-off, because the container has not failed. */
  readonly atOnce?: boolean;
}

export interface StopOptions {
  readonly reason: StopReason;
  readonly graceMs: number;
  /** Length of one second of the spec in milliseconds; tests use less. */
  readonly secondMs: number;
  readonly now: () => number;
  readonly timers: Timers;
  /** The preStop hook has failed or timed out. */
  readonly hookFailed: () => void;
}

export class ContainerStop {
  readonly reason: StopReason;
  #deadlineMs: number;
  #timer: Timer | undefined;
  /** Aborts the preStop hook. */
  #giveUpHook: (() => void) | undefined;
  /** The run that the stop signal was sent to. */
  #asked: RunningContainer | undefined;
  #closed = false;

  constructor(private readonly options: StopOptions) {
    this.reason = options.reason;
    this.#deadlineMs = options.now() + options.graceMs;
  }

  /** Starts stopping this run. */
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

  /** Shortens the remaining time to `graceMs`; never lengthens it. */
  hurry(graceMs: number): void {
    const deadlineMs = this.options.now() + graceMs;
    if (deadlineMs >= this.#deadlineMs) return;
    this.#deadlineMs = deadlineMs;
    this.#armDeadline();
  }

  /** Called when the run has ended, or another stop takes over. */
  close(): void {
    this.#closed = true;
    this.options.timers.clear(this.#timer);
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
    this.options.timers.clear(this.#timer);
    if (this.#closed) return;
    const leftMs = Math.max(0, this.#deadlineMs - this.options.now());
    this.#timer = this.options.timers.set(() => {
      if (this.#asked) this.#asked.kill('SIGKILL');
      else this.#giveUpHook?.();
    }, leftMs);
  }
}
