/**
 * Work by key that takes the longer the more there is behind the key, such as a service with thousands of slices that
 * come one by one. What took long is not repeated for twenty times as long, however often it is asked for meanwhile, and
 * once after that: all of it together costs a twentieth of the event loop, and not the square of its length.
 */
const shortMs = 2;
const restPart = 20;

export class PacedWork {
  /** Keys that rest, and whether they are asked for. */
  readonly #resting = new Map<string, boolean>();

  run(key: string, work: () => void): void {
    if (this.#resting.has(key)) return void this.#resting.set(key, true);
    const begunMs = performance.now();
    work();
    const tookMs = performance.now() - begunMs;
    if (tookMs < shortMs) return;
    this.#resting.set(key, false);
    const end = (): void => {
      const again = this.#resting.get(key);
      this.#resting.delete(key);
      if (again) this.run(key, work);
    };
    setTimeout(end, tookMs * restPart).unref();
  }
}
