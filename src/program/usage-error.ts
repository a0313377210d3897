/** A wrong command line; the message says what is wrong. */
export class UsageError extends Error {}

export const refuse = (message: string): never => {
  throw new UsageError(message);
};
