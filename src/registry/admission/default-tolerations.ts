/**
 * DefaultTolerationSeconds: a pod stays five minutes, or what the operator says, on a node that is not ready or
 * unreachable, unless it sets its own tolerations.
 */
import type { Pod, Toleration } from '../../api/generated/types.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import { subresourceOf } from '../target.ts';

const conditions = [
  ['node.kubernetes.io/not-ready', 'notReady'],
  ['node.kubernetes.io/unreachable', 'unreachable'],
] as const;

/** How many seconds pods stay, by the condition of their node. */
export interface TolerationSeconds {
  readonly notReady: number;
  readonly unreachable: number;
}

export const fiveMinutes: TolerationSeconds = { notReady: 300, unreachable: 300 };

export const defaultTolerations = (seconds: TolerationSeconds): AdmissionPlugin => ({
  name: 'DefaultTolerationSeconds',
  kinds: ['core/pods'],

  mutate(_registry, { target, object }) {
    if (subresourceOf(target.part)) return;
    const spec = ((object as Pod).spec ??= {});
    const given = spec.tolerations ?? [];
    const added = conditions
      .filter(([key]) => !given.some((toleration) => covers(toleration, key)))
      .map(([key, lost]) => ({
        key,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: seconds[lost],
      }));
    if (added.length) spec.tolerations = [...given, ...added];
  },
});

/** Whether a toleration covers a condition. An empty key stands for every key, an empty effect for every effect. */
const covers = ({ key, effect }: Toleration, condition: string): boolean =>
  (!key || key === condition) && (!effect || effect === 'NoExecute');
