/** What a recorder has done so far, for its metrics and for people. */

/** What a resource is doing. `refused`: it may not be read. */
export type FollowerState = 'listing' | 'watching' | 'waiting' | 'refused';

export class FollowerFigures {
  /** Changes that were written. */
  changes = 0;
  /** Objects that could not be written. */
  skipped = 0;
  /** When the oldest change arrived that is not written yet, by resource. */
  readonly #arrived = new Map<string, number>();
  readonly #states = new Map<string, FollowerState>();
  #lagMs = 0;

  arrived(resource: string, nowMs: number): void {
    if (!this.#arrived.has(resource)) this.#arrived.set(resource, nowMs);
  }

  written(resource: string, changes: number, nowMs: number): void {
    this.changes += changes;
    this.#lagMs = nowMs - (this.#arrived.get(resource) ?? nowMs);
    this.#arrived.delete(resource);
  }

  /** How long changes wait until they are written: those that wait now, or the last ones. */
  lagMs(nowMs: number): number {
    let lagMs = this.#arrived.size ? 0 : this.#lagMs;
    for (const arrivedMs of this.#arrived.values()) lagMs = Math.max(lagMs, nowMs - arrivedMs);
    return lagMs;
  }

  set(resource: string, state: FollowerState): void {
    this.#states.set(resource, state);
  }

  drop(resource: string): void {
    this.#states.delete(resource);
    this.#arrived.delete(resource);
  }

  state(resource: string): FollowerState | undefined {
    return this.#states.get(resource);
  }

  /** Resources in a state. */
  in(state: FollowerState): string[] {
    return [...this.#states].flatMap(([resource, one]) => (one === state ? [resource] : []));
  }

  count(state: FollowerState): number {
    let count = 0;
    for (const one of this.#states.values()) if (one === state) count++;
    return count;
  }
}
