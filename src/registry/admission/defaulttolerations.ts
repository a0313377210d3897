/**
 * DefaultTolerationSeconds: a pod stays five minutes on a node that is not ready or unreachable, unless it sets its
 * own tolerations.
 */
import type { Pod, Toleration } from '../../api/generated/types.ts';
import { subresourceOf } from '../target.ts';
import type { AdmissionPlugin } from './admission.ts';

const conditions = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'] as const;
const tolerationSeconds = 300;

export const defaultTolerations: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  kinds: ['core/pods'],

  mutate(_registry, { target, object }) {
    if (subresourceOf(target.part)) return;
    const spec = ((object as Pod).spec ??= {});
    const given = spec.tolerations ?? [];
    const added = conditions
      .filter((key) => !given.some((toleration) => covers(toleration, key)))
      .map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds }));
    if (added.length) spec.tolerations = [...given, ...added];
  },
};

/** An empty key stands for every key, an empty effect for every effect. */
const covers = ({ key, effect }: Toleration, condition: string): boolean =>
  (!key || key === condition) && (!effect || effect === 'NoExecute');
