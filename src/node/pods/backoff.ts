/** Back-off: waits that double with every failure, and are reset after a long enough run without failure. */

export interface BackOffTimes {
  readonly firstMs: number;
  readonly maxMs: number;
  /** A run that lasts this long resets the back-off. */
  readonly resetMs: number;
}

/** For container restarts and image pulls, as on a Kubernetes node. */
export const defaultBackOff: BackOffTimes = { firstMs: 10_000, maxMs: 300_000, resetMs: 600_000 };

export class BackOff {
  #waitMs = 0;

  constructor(private readonly times: BackOffTimes) {}

  /** How long to wait now; 0 before the first failure. */
  get waitMs(): number {
    return this.#waitMs;
  }

  /** Doubles the next wait. */
  grow(): void {
    const { firstMs, maxMs } = this.times;
    this.#waitMs = Math.min(Math.max(firstMs, this.#waitMs * 2), maxMs);
  }

  /** Reports how long a run lasted. */
  lasted(ms: number): void {
    if (ms >= this.times.resetMs) this.reset();
  }

  reset(): void {
    this.#waitMs = 0;
  }
}

/** `1m20s`, as Go writes durations. */
export function goDuration(ms: number): string {
  if (ms < 1000) return `${ms}ms`;
  const seconds = ms / 1000;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = Math.round((seconds % 60) * 1000) / 1000;
  return `${hours ? `${hours}h` : ''}${hours || minutes ? `${minutes}m` : ''}${rest}s`;
}
