/** Failing, the error exit of every step: sends the thrown error to the client. */
import { internal, requestTimeout, StatusError, unavailable } from '../../api/errors/errors.ts';
import { StoreFullError, StoreTimeoutError, StoreUnavailableError } from '../../store/store.ts';
import { ClientGone, type Upgrade } from '../../streams/dial/tunnel.ts';
import { answerError, answerOverload } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import { Overload } from '../http/traffic.ts';
import { refuse } from '../wire/refusal.ts';
import type { Services } from './step.ts';

/** Sends the error. Never throws: when even the error cannot be sent, the connection is closed. */
export function fail(context: RequestContext, error: unknown, { report }: Services): void {
  const known = error instanceof StoreUnavailableError ? storeFailure(error) : error;
  try {
    if (context.upgrade) failUpgrade(context, context.upgrade, known, report);
    else if (known instanceof Overload) answerOverload(context, known.retryAfter);
    else answerError(context, known, report);
  } catch (unanswerable) {
    report(unanswerable as Error);
    if (context.upgrade) context.upgrade.socket.destroy();
    else context.response.destroy();
  }
}

/** The error for a client when the store has failed. */
function storeFailure(error: StoreUnavailableError): StatusError {
  if (error instanceof StoreFullError) return internal(error.message);
  return error instanceof StoreTimeoutError ? requestTimeout() : unavailable(error.message);
}

function failUpgrade(
  context: RequestContext,
  { socket }: Upgrade,
  error: unknown,
  report: Services['report'],
): void {
  if (error instanceof ClientGone) return void socket.destroy();
  if (!(error instanceof StatusError)) report(error as Error);
  const status = error instanceof StatusError ? error : unavailable('the connection could not be upgraded');
  context.failure = status.status;
  refuse(socket, status);
}
