/** A start that cannot be. */

/** What is asked for cannot be; the message is a sentence for the person who asked. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StartError';
  }
}
