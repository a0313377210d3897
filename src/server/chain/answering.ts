/** Answering: runs the handler. Error exits: any error of the handler, and 504 at its timeout. */
import { requestTimeout } from '../../api/errors/errors.ts';
import type { RequestContext } from '../http/context.ts';
import type { Services } from './step.ts';

export function answer(context: RequestContext, services: Services): void | Promise<void> {
  const { handler, info, timeLimitMs } = context;
  context.trace?.end('queue');
  const work = handler!(context, info.resource!);
  return work && timeLimitMs > 0 ? inTime(work, timeLimitMs, services) : work;
}

function inTime(work: Promise<void>, limitMs: number, { keeper }: Services): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      keeper.reached('requestTimeoutMs');
      reject(requestTimeout());
    }, limitMs).unref();
    work.then(
      () => {
        clearTimeout(timer);
        resolve();
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
