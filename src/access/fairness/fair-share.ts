/**
 * A fair share: divides a bounded resource, such as connections or memory, among users. No user may have more than a
 * fraction of what the others leave. So one user alone never fills it, and a later user still finds room: with the
 * fraction one half, the first user may have a half, the second a quarter.
 */
export class FairShare {
  readonly #byOwner = new Map<string, number>();
  #taken = 0;

  constructor(
    private readonly max: number,
    /** One owner may hold this fraction of what other owners do not hold. */
    private readonly fraction = 0.5,
  ) {}

  get taken(): number {
    return this.#taken;
  }

  /** Takes some; returns false, and takes nothing, when that would exceed the owner's share. */
  take(owner: string, count = 1): boolean {
    const own = this.#byOwner.get(owner) ?? 0;
    const others = this.#taken - own;
    if (own + count > Math.ceil((this.max - others) * this.fraction)) return false;
    this.#byOwner.set(owner, own + count);
    this.#taken += count;
    return true;
  }

  /** Gives back what was taken. */
  give(owner: string, count = 1): void {
    const own = (this.#byOwner.get(owner) ?? 0) - count;
    this.#taken -= count;
    if (own > 0) this.#byOwner.set(owner, own);
    else this.#byOwner.delete(owner);
  }
}
