/**
 * A fair share: a bound on something that all users take from, such as connections or memory. No user may have more than
 * a fraction of what the others leave, so one alone never fills it, and a user who comes later still finds room: with one
 * half, the first user may have a half, the second a quarter.
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

  /** Takes some; false when that would be more than the owner's share, and nothing is taken. */
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
