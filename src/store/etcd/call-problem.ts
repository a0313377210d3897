/** Classifies failed calls of etcd: was the request certainly not carried out, and may a retry succeed? */
import { type CallError, GrpcCode } from '../../grpc/call-error.ts';

/** Codes with which etcd itself refuses a request. After any other it may still carry the request out. */
const refusals = new Set<number>([
  GrpcCode.invalidArgument,
  GrpcCode.notFound,
  GrpcCode.alreadyExists,
  GrpcCode.permissionDenied,
  GrpcCode.resourceExhausted,
  GrpcCode.failedPrecondition,
  GrpcCode.outOfRange,
  GrpcCode.dataLoss,
  GrpcCode.unauthenticated,
]);

/** The member knows no leader. The request may still be carried out: the member may have sent it to a former leader. */
export const isNoLeader = ({ code, message }: CallError): boolean =>
  code === GrpcCode.unavailable && message === 'etcdserver: no leader';

/** The request was certainly not carried out and never will be. */
export const isNotDone = (error: CallError): boolean => error.unsent || refusals.has(error.code);

/** The same request may succeed a little later, perhaps at another member. */
export const isPassing = (error: CallError): boolean => !refusals.has(error.code) || isCrowded(error);

/** Too many requests wait in etcd. */
const isCrowded = ({ code, message }: CallError): boolean =>
  code === GrpcCode.resourceExhausted && message.includes('too many requests');

export const isOutOfSpace = ({ code, message }: CallError): boolean =>
  code === GrpcCode.resourceExhausted && message.includes('space exceeded');

export const isCompacted = ({ code, message }: CallError): boolean =>
  code === GrpcCode.outOfRange && message.includes('compacted');

export const isTooLarge = ({ code, message }: CallError): boolean =>
  message.includes('too large') ||
  (code === GrpcCode.resourceExhausted && message.includes('larger than max'));
