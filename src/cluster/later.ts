/** A part that others refer to before it is there, such as the server to which webhooks of its own objects lead back. */
export class Later<T> {
  #part: T | undefined;

  /** @param missing the message of the error for those who need the part too early */
  constructor(private readonly missing: string) {}

  get part(): T {
    if (this.#part === undefined) throw new Error(this.missing);
    return this.#part;
  }

  /** Undefined while it is not there. */
  get current(): T | undefined {
    return this.#part;
  }

  /** @param part undefined: it is gone again */
  set(part: T | undefined): void {
    this.#part = part;
  }
}
