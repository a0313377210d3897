/** Evictions of pods: which need not be guarded, and what shows that a pod was evicted. */
import type { Pod } from '../../generated/types.ts';
import { withCondition } from '../shared/condition.ts';
import { isFinished } from './pod-facts.ts';

/** Budgets do not apply to pods that are pending, finished or being deleted. */
export function evictionState({ metadata, status }: Pod): 'guarded' | 'waiting' | 'over' {
  if (metadata.deletionTimestamp !== undefined || isFinished(status?.phase)) return 'over';
  return status?.phase === 'Pending' ? 'waiting' : 'guarded';
}

export function noteEviction(pod: Pod, now: string): void {
  const status = (pod.status ??= {});
  const note = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  };
  status.conditions = withCondition(status.conditions, note, now);
}
