/** Back-off: waits that double from one failure to the next, and begin anew after a good while. */

export interface BackOffTimes {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Whatever has gone well for this long begins anew. */
  readonly resetMs: number;
}

/** Restarts of containers and pulls of images, as on a Kubernetes node. */
export const defaultBackOff: BackOffTimes = { firstMs: 10_000, maxMs: 300_000, resetMs: 600_000 };

export class BackOff {
  #waitMs = 0;

  constructor(private readonly times: BackOffTimes) {}

  /** How long to wait now. The first time it is nothing. */
  get waitMs(): number {
    return this.#waitMs;
  }

  /** The wait has been waited: the next one is longer. */
  grow(): void {
    const { firstMs, maxMs } = this.times;
    this.#waitMs = Math.min(Math.max(firstMs, this.#waitMs * 2), maxMs);
  }

  /** Says how long it went well. */
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
