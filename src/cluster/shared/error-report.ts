/**
 * Reports failures of a cluster. The loss of its store is reported once; later failures caused by it, such as the next
 * round of every controller, are not reported.
 *
 * Clients can cause some failures as often as they like, for example where a webhook does not answer. So the same one is
 * reported once in a while, with the number of those in between, and all together are bounded.
 */

/** Maximum length of a chain of causes. */
const causesMax = 10;
/** Minimum time between two reports of the same failure, and the maximum number of reports in that time. */
const intervalMs = 10_000;
const reportsMax = 50;

export class ErrorReport {
  /** Messages of errors that were caused by a loss. */
  readonly #losses = new Set<string>();
  /** Messages reported in this interval, each with the number of times that it came again. */
  #reported = new Map<string, number>();
  /** Failures that were not reported, because there were too many different ones. */
  #beyond = 0;
  #begunMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly onError: (error: Error) => void = () => undefined,
    private readonly onFatal: (error: Error) => void = onError,
    private readonly nowMs = (): number => performance.now(),
  ) {}

  readonly tell = (error: Error): void => {
    if (this.#isOfLoss(error)) return;
    if (this.nowMs() - this.#begunMs >= intervalMs) this.#beginInterval();
    const again = this.#reported.get(error.message);
    if (again !== undefined) this.#reported.set(error.message, again + 1);
    else if (this.#reported.size >= reportsMax) this.#beyond++;
    else {
      this.#reported.set(error.message, 0);
      this.onError(error);
    }
  };

  /** Reports what the last interval has left out. */
  #beginInterval(): void {
    const [reported, beyond] = [this.#reported, this.#beyond];
    this.#reported = new Map();
    this.#beyond = 0;
    this.#begunMs = this.nowMs();
    for (const [message, again] of reported)
      if (again > 0) this.onError(withoutStack(`${message} (${again} times more)`));
    if (beyond > 0) this.onError(withoutStack(`${beyond} other failures were not reported`));
  }

  readonly tellLoss = (error: Error): void => {
    for (const one of chainOf(error)) this.#losses.add(one.message);
    this.onFatal(error);
  };

  #isOfLoss(error: Error): boolean {
    return this.#losses.size > 0 && chainOf(error).some(({ message }) => this.#losses.has(message));
  }
}

function withoutStack(message: string): Error {
  const error = new Error(message);
  error.stack = message;
  return error;
}

/** The error, its cause, the cause of that, and so on. */
function chainOf(error: Error): Error[] {
  const chain: Error[] = [];
  for (let one: unknown = error; one instanceof Error && chain.length < causesMax; one = one.cause)
    chain.push(one);
  return chain;
}
