/**
 * The clock of a test cluster, and its timers. It runs with the wall clock until it is frozen or moved:
 *
 * running ──freeze()──▶ frozen ──thaw()──▶ running
 * either  ──advance()─▶ moving, from timer to timer ──▶ as before
 *
 * While it moves it stops at every due timer, fires it and those that follow within a moment, and waits until the
 * cluster has finished the resulting work. So a cron job runs as often as it should. Timers with slack, such as those
 * of leases, of which every node has one, are grouped: the clock stops for all of them at once, when the first has no
 * slack left.
 */
import { wallClock } from '../clock.ts';
import type { Timer, Timers } from '../timers.ts';
import { DueTimers, type Waiting } from './due-timers.ts';

/** The longest delay of Node's timers. */
const sleepMaxMs = 2 ** 31 - 1;
/** Maximum number of timers fired at one time before the clock gives up: something sets them again without a delay. */
const firingsMax = 100_000;
/** Maximum number of timers without consequences that fire in one tick of the event loop. */
const stepsPerTick = 1_000;
/** Node's timers are not exact within this time: what is due then counts as due now. */
const soonMs = 20;

/** The parts of the cluster that the clock needs to know. */
export interface MovedCluster {
  /** Whether anything is being done. */
  isBusy(): boolean;
  /** Resolves when the cluster has done everything that it can do now. */
  quiet(): Promise<void>;
}

export class VirtualClock implements Timers {
  readonly #timers = new DueTimers();
  /** Timers with slack. */
  readonly #patient = new DueTimers();
  #offsetMs = 0;
  /** The time at which it stands; undefined while it runs. */
  #stoodMs: number | undefined;
  #alarm: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  /** Whether timers use their slack: only while the clock is being moved. */
  #hurries = false;
  #moving: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(private readonly cluster: MovedCluster) {}

  readonly nowMs = (): number => this.#stoodMs ?? wallClock() + this.#offsetMs;

  get isRunning(): boolean {
    return this.#stoodMs === undefined;
  }

  /** Whether a timer is due now or in a moment. */
  get isDue(): boolean {
    const nextMs = this.#nextMs();
    return nextMs !== undefined && nextMs <= this.nowMs() + (this.isRunning ? soonMs : 0);
  }

  set(callback: () => void, delayMs: number, slackMs = 0): Timer {
    return this.#add(callback, delayMs, undefined, slackMs);
  }

  repeat(callback: () => void, intervalMs: number): Timer {
    return this.#add(callback, intervalMs, intervalMs, 0);
  }

  clear(timer: Timer | undefined): void {
    if (timer) this.#timers.drop(timer as Waiting);
  }

  freeze(atMs = this.nowMs()): void {
    this.#stoodMs = atMs;
    this.#arm();
  }

  /** Continues from where it stands. */
  thaw(): void {
    if (this.#stoodMs === undefined) return;
    this.#offsetMs = this.#stoodMs - wallClock();
    this.#stoodMs = undefined;
    this.#arm();
  }

  /** Moves forward, one timer after the other. */
  advance(ms: number): Promise<void> {
    const moved = this.#moving.then(() => this.#advance(ms));
    this.#moving = moved.catch(() => undefined);
    return moved;
  }

  /** Returns to the wall clock time, and runs. Timers keep their remaining time. */
  reset(): void {
    const beforeMs = this.nowMs();
    this.#stoodMs = undefined;
    this.#offsetMs = 0;
    for (const timers of [this.#timers, this.#patient]) timers.shift(this.nowMs() - beforeMs);
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#alarm);
    clearImmediate(this.#soon);
  }

  async #advance(ms: number): Promise<void> {
    const wasRunning = this.isRunning;
    const targetMs = this.nowMs() + ms;
    this.freeze();
    try {
      await this.cluster.quiet();
      this.#hurries = true;
      let [firings, steps] = [0, 0];
      for (let nextMs = this.#nextMs(); nextMs !== undefined && nextMs <= targetMs; nextMs = this.#nextMs()) {
        const before = this.#stoodMs;
        // Everything due within a moment is waited for once.
        this.#stoodMs = Math.max(this.nowMs(), Math.min(nextMs + soonMs, targetMs));
        firings = this.#stoodMs === before ? firings + 1 : 0;
        if (firings > firingsMax) throw new Error('the clock cannot move on: timers are set without a delay');
        this.#fire();
        // Most timers only check something, and cause no work.
        await undefined;
        if (this.cluster.isBusy() || ++steps % stepsPerTick === 0) await this.cluster.quiet();
      }
      this.#stoodMs = targetMs;
    } finally {
      this.#hurries = false;
      this.#fire();
      if (wasRunning) this.thaw();
    }
    await this.cluster.quiet();
  }

  #add(callback: () => void, delayMs: number, intervalMs: number | undefined, slackMs: number): Timer {
    const timers = slackMs > 0 ? this.#patient : this.#timers;
    const timer = timers.add(callback, this.nowMs() + Math.max(0, delayMs), intervalMs, slackMs);
    if (timers.next() === timer) this.#arm();
    return timer;
  }

  /** When the next timer has to fire; undefined when none is set. */
  #nextMs(): number | undefined {
    const [nextMs, patientMs] = [this.#timers.next()?.dueMs, this.#patientMs()];
    return nextMs === undefined || patientMs === undefined
      ? (nextMs ?? patientMs)
      : Math.min(nextMs, patientMs);
  }

  /** When the first timer with slack has to fire. */
  #patientMs(): number | undefined {
    const first = this.#patient.next();
    return first && first.dueMs + (this.#hurries ? first.slackMs : 0);
  }

  /** Sets a real timer for the next one. While the clock stands, only timers that are due already fire. */
  #arm(): void {
    clearTimeout(this.#alarm);
    const nextMs = this.#nextMs();
    if (nextMs === undefined || this.#closed) return;
    const leftMs = nextMs - this.nowMs();
    if (leftMs <= 0)
      this.#soon ??= setImmediate(() => {
        this.#soon = undefined;
        this.#fire();
      });
    else if (this.isRunning) {
      this.#alarm = setTimeout(() => this.#fire(), Math.min(Math.ceil(leftMs), sleepMaxMs));
      this.#alarm.unref();
    }
  }

  /** Fires due timers. Timers that they set without a delay fire in a later tick. */
  #fire(): void {
    if (this.#closed) return;
    const nowMs = this.nowMs();
    const due = this.#timers.takeDue(nowMs);
    const patientMs = this.#patientMs();
    if (patientMs !== undefined && patientMs <= nowMs) due.push(...this.#patient.takeDue(nowMs));
    for (const timer of due) {
      if (timer.intervalMs !== undefined && !timer.dropped)
        this.#timers.put(timer, nextOf(timer, this.nowMs()));
      if (!timer.dropped) timer.callback();
    }
    this.#arm();
  }
}

/** The next due time of a repeated timer, without drift, however late it fires. */
const nextOf = ({ dueMs, intervalMs = 0 }: Waiting, nowMs: number): number =>
  dueMs + intervalMs > nowMs ? dueMs + intervalMs : nowMs + intervalMs;
