/** Flow control of a cluster with a secure door: the default policy, and the limits derived from it. */
import { FlowControl } from '../../access/fairness/flow-control.ts';
import { FlowPolicy } from '../../access/fairness/flow-policy.ts';
import type { Writing } from '../../registry/writing.ts';
import type { Limits } from '../../server/http/limits.ts';

/** A request waits at most this fraction (1/n) of the request timeout. */
const waitShare = 4;

export interface OpenFairness {
  readonly control: FlowControl;
  close(): Promise<void>;
}

export async function openFairness(
  writing: Writing,
  { readsInFlightMax, writesInFlightMax, requestTimeoutMs }: Limits,
  onError: (error: Error) => void,
): Promise<OpenFairness> {
  const policy = new FlowPolicy(writing, onError);
  await policy.start();
  const control = new FlowControl(writing.registry, {
    seats: readsInFlightMax + writesInFlightMax,
    waitMaxMs: requestTimeoutMs / waitShare,
    nowMs: writing.registry.sources.nowMs,
  });
  return { control, close: () => policy.close() };
}
