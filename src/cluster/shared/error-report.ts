/**
 * Reports failures of a cluster. The loss of its store is reported once; later failures caused by it, such as the next
 * round of every controller, are not reported.
 */

/** Maximum length of a chain of causes. */
const causesMax = 10;

export class ErrorReport {
  /** Messages of errors that were caused by a loss. */
  readonly #losses = new Set<string>();

  constructor(
    private readonly onError: (error: Error) => void = () => undefined,
    private readonly onFatal: (error: Error) => void = onError,
  ) {}

  readonly tell = (error: Error): void => {
    if (!this.#isOfLoss(error)) this.onError(error);
  };

  readonly tellLoss = (error: Error): void => {
    for (const one of chainOf(error)) this.#losses.add(one.message);
    this.onFatal(error);
  };

  #isOfLoss(error: Error): boolean {
    return this.#losses.size > 0 && chainOf(error).some(({ message }) => this.#losses.has(message));
  }
}

/** The error, its cause, the cause of that, and so on. */
function chainOf(error: Error): Error[] {
  const chain: Error[] = [];
  for (let one: unknown = error; one instanceof Error && chain.length < causesMax; one = one.cause)
    chain.push(one);
  return chain;
}
