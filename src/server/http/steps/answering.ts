/** Answering: runs the handler. Error exits: any error of the handler, and 504 at its timeout. */
import { requestTimeout } from '../../../api/errors.ts';
import type { RequestContext } from '../context.ts';
import type { LimitKeeper } from '../limits.ts';
import type { Services } from './step.ts';

export function answer(context: RequestContext, { keeper }: Services): void | Promise<void> {
  const { handler, info, timeLimitMs } = context;
  const work = handler!(context, info.resource!);
  return work && timeLimitMs > 0 ? inTime(work, timeLimitMs, keeper) : work;
}

function inTime(work: Promise<void>, limitMs: number, keeper: LimitKeeper): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      keeper.reached('requestTimeoutMs');
      reject(requestTimeout());
    }, limitMs);
    const settle = (settled: () => void): void => {
      clearTimeout(timer);
      settled();
    };
    work.then(
      () => settle(resolve),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}
