/** A prober: runs the startup, liveness and readiness probes of a running container. */
import type { Probe } from '../../api/generated/types.ts';
import type { Timer, Timers } from '../../timers.ts';
import { ask, type ProbeResult, type ProbeTarget } from './probe.ts';

export type ProbeKind = 'Startup' | 'Liveness' | 'Readiness';

export interface ProberOptions {
  readonly target: ProbeTarget;
  /** Whether the container has passed its startup probe under an earlier agent. */
  readonly hasStarted?: boolean;
  /** Called when the container has passed its startup probe. */
  readonly started: () => void;
  readonly ready: (ready: boolean) => void;
  /** Called when the container must be restarted. */
  readonly sick: (kind: ProbeKind, probe: Probe) => void;
  /** Called with the text of every result that is not a success. */
  readonly unhealthy: (message: string) => void;
  /** Length of one second of the spec in milliseconds; tests use less. */
  readonly secondMs: number;
  readonly now: () => number;
  readonly timers: Timers;
}

interface Asking {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  successes: number;
  failures: number;
  timer: Timer | undefined;
}

export class Prober {
  readonly #askings = new Set<Asking>();
  #closed = false;

  constructor(private readonly options: ProberOptions) {
    const { startupProbe } = options.target.container;
    if (startupProbe && !options.hasStarted) this.#begin('Startup', startupProbe);
    else this.#beginLasting();
  }

  close(): void {
    this.#closed = true;
    for (const { timer } of this.#askings) this.options.timers.clear(timer);
    this.#askings.clear();
  }

  /** Starts the liveness and readiness probes, which wait for the startup probe. */
  #beginLasting(): void {
    const { livenessProbe, readinessProbe } = this.options.target.container;
    if (livenessProbe) this.#begin('Liveness', livenessProbe);
    if (readinessProbe) this.#begin('Readiness', readinessProbe);
  }

  #begin(kind: ProbeKind, probe: Probe): void {
    const asking: Asking = { kind, probe, successes: 0, failures: 0, timer: undefined };
    this.#askings.add(asking);
    // Delays count from the start of the container.
    const sinceStartMs = this.options.now() - this.options.target.running.startedAt.getTime();
    const delayMs = (probe.initialDelaySeconds ?? 0) * this.options.secondMs - sinceStartMs;
    this.#later(asking, Math.max(0, delayMs));
  }

  #later(asking: Asking, delayMs: number): void {
    asking.timer = this.options.timers.set(() => void this.#ask(asking), delayMs);
  }

  async #ask(asking: Asking): Promise<void> {
    const { probe } = asking;
    const { target, secondMs } = this.options;
    const result = await ask(probe, target, (probe.timeoutSeconds ?? 1) * secondMs);
    if (this.#closed) return;
    this.#judge(asking, result);
    if (!this.#closed && this.#askings.has(asking))
      this.#later(asking, (probe.periodSeconds ?? 10) * secondMs);
  }

  #judge(asking: Asking, { outcome, output }: ProbeResult): void {
    const { kind, probe } = asking;
    if (outcome === 'success') {
      asking.failures = 0;
      if (++asking.successes >= (probe.successThreshold ?? 1)) this.#passed(asking);
      return;
    }
    const verb = outcome === 'failure' ? 'failed' : 'errored';
    this.options.unhealthy(`${kind} probe ${verb}: ${output}`);
    // A probe that could not be carried out says nothing about the container.
    if (outcome === 'error') return;
    asking.successes = 0;
    if (++asking.failures >= (probe.failureThreshold ?? 3)) this.#failed(asking);
  }

  #passed(asking: Asking): void {
    if (asking.kind === 'Readiness') this.options.ready(true);
    if (asking.kind !== 'Startup') return;
    this.#askings.delete(asking);
    this.options.started();
    this.#beginLasting();
  }

  #failed({ kind, probe }: Asking): void {
    if (kind === 'Readiness') return this.options.ready(false);
    this.close();
    this.options.sick(kind, probe);
  }
}
