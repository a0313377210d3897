/** A part that others refer to before it exists, such as the server that webhooks for its own objects call. */
export class Later<T> {
  #part: T | undefined;

  /** @param missing the error message when the part is needed too early */
  constructor(private readonly missing: string) {}

  get part(): T {
    if (this.#part === undefined) throw new Error(this.missing);
    return this.#part;
  }

  /** The part; undefined while it does not exist. */
  get current(): T | undefined {
    return this.#part;
  }

  /** @param part undefined when it no longer exists */
  set(part: T | undefined): void {
    this.#part = part;
  }
}
