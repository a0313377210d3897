/** The options of a start cannot be met: a port is taken, a folder in use, a range wrong. The message says which. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StartError';
  }
}
