/** Container logs as the kubelet API serves them: which run of a container is meant, and which part of its log. */
import type { ContainerStatus } from '../../api/generated/types.ts';
import { timeToMs } from '../../api/values/time.ts';
import type { LogQuery } from '../runtime/runtime.ts';

/** A request for a log that is refused: status code and message. */
export class LogRefusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** The number of the run whose log is requested. */
export function attemptOf(
  status: ContainerStatus | undefined,
  container: string,
  pod: string,
  previous: boolean,
): number {
  const text = `container "${container}" in pod "${pod}"`;
  if (!status) throw new LogRefusal(400, `${text} is not available`);
  const { state = {}, lastState, restartCount = 0 } = status;
  const last = lastState?.terminated;
  if (previous) {
    // The run before the current one. A waiting container has no current run: its last run is in `lastState`.
    if (!last) throw new LogRefusal(400, `previous terminated ${text} not found`);
    return state.waiting ? restartCount : restartCount - 1;
  }
  if (state.running || state.terminated?.containerID) return restartCount;
  if (state.terminated) {
    if (last) return Math.max(0, restartCount - 1);
    throw new LogRefusal(400, `${text} is terminated`);
  }
  if (last) return restartCount;
  if (!state.waiting) throw new LogRefusal(400, `${text} is waiting to start - no logs yet`);
  const { reason = '' } = state.waiting;
  throw new LogRefusal(400, `${text} is waiting to start: ${waitingTexts[reason] ?? reason}`);
}

const waitingTexts: Partial<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
};

/** Parses the query; throws `LogRefusal`. */
export function logQueryOf(query: URLSearchParams, nowMs: number): LogQuery & { readonly previous: boolean } {
  const tail = query.get('tail');
  const tailLines = tail === 'all' ? undefined : integer(query.get('tailLines') ?? tail);
  const sinceSeconds = integer(query.get('sinceSeconds'));
  const sinceTime = query.get('sinceTime');
  const limitBytes = integer(query.get('limitBytes'));
  if (
    (tailLines ?? 0) < 0 ||
    (sinceSeconds ?? 1) < 1 ||
    (limitBytes ?? 1) < 1 ||
    (sinceSeconds !== undefined && sinceTime)
  )
    throw new LogRefusal(422, '{"message": "Invalid request."}');
  const sinceMs = sinceTime ? time(sinceTime) : sinceSeconds && Math.max(0, nowMs - sinceSeconds * 1000);
  return {
    follow: flag(query.get('follow')),
    previous: flag(query.get('previous')),
    timestamps: flag(query.get('timestamps')),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
  };
}

const undecodable = (): LogRefusal => new LogRefusal(400, '{"message": "Unable to decode query."}');

function integer(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^[+-]?\d{1,40}$/.test(text)) throw undecodable();
  const value = BigInt(text.replace('+', ''));
  if (BigInt.asIntN(64, value) !== value) throw undecodable();
  // Beyond what a number can hold exactly, any count is as good as all.
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(value)));
}

function time(text: string): number {
  try {
    return timeToMs(text);
  } catch {
    throw undecodable();
  }
}

const flag = (text: string | null): boolean =>
  text !== null && text !== '0' && text.toLowerCase() !== 'false';
