/** Errors of gRPC calls. */

/** The status codes of gRPC that callers distinguish. */
export const GrpcCode = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

export class CallError extends Error {
  /** Whether the request did not reach the peer. */
  readonly unsent: boolean;

  constructor(
    readonly code: number,
    message: string,
    options: ErrorOptions & { readonly unsent?: boolean } = {},
  ) {
    super(message, options);
    this.name = 'CallError';
    this.unsent = options.unsent ?? false;
  }
}
