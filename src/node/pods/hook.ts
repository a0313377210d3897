/** Lifecycle hooks: postStart and preStop of a container. */
import type { LifecycleHandler } from '../../api/generated/types.ts';
import { timerMaxMs } from '../../timers.ts';
import { ask, type ProbeTarget } from './probe.ts';

export interface HookOptions {
  readonly timeoutMs: number;
  readonly secondMs: number;
  /** Aborted when the hook's result is no longer needed. */
  readonly gone: AbortSignal;
}

/** Undefined on success, else what went wrong. */
export async function runHook(
  handler: LifecycleHandler,
  target: ProbeTarget,
  { timeoutMs, secondMs, gone }: HookOptions,
): Promise<string | undefined> {
  if (handler.sleep) {
    await slept(Math.min((handler.sleep.seconds ?? 0) * secondMs, timeoutMs), gone);
    return undefined;
  }
  const { outcome, output } = await ask(handler, target, timeoutMs);
  return outcome === 'success' ? undefined : output;
}

const slept = (ms: number, gone: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (gone.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      gone.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, timerMaxMs));
    gone.addEventListener('abort', done, { once: true });
  });
