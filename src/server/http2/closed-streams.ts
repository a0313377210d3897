/**
 * What is remembered of closed streams, to tell frames that were under way from those that break a rule: after a reset of
 * ours the client's frames are ignored, after the client's own end they are errors.
 */
const resetsMax = 512;
const endedMax = 32;

export class ClosedStreams {
  /** Ids of streams that were reset by this side, the oldest overwritten first. Made with the first. */
  #resets: Int32Array | undefined;
  #resetAt = 0;
  readonly #ended = new Int32Array(endedMax);
  #endedAt = 0;

  addReset(id: number): void {
    this.#resets ??= new Int32Array(resetsMax);
    this.#resets[this.#resetAt] = id;
    this.#resetAt = (this.#resetAt + 1) % resetsMax;
  }

  addEnded(id: number): void {
    this.#ended[this.#endedAt] = id;
    this.#endedAt = (this.#endedAt + 1) % endedMax;
  }

  wasReset(id: number): boolean {
    return this.#resets?.includes(id) ?? false;
  }

  hasEnded(id: number): boolean {
    return this.#ended.includes(id);
  }
}
