/** Priority: a pod's class decides its priority; clients name the class and never the number. */
import { forbidden } from '../api/errors.ts';
import type { Pod } from '../api/generated/types.ts';
import type { AdmissionPlugin } from './admission.ts';

/** The classes every cluster has. */
const classes: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

export const priority: AdmissionPlugin = {
  name: 'Priority',

  mutate(_registry, { operation, kind, name, object }) {
    if (operation !== 'create' || kind.kind !== 'Pod') return;
    const spec = ((object as Pod).spec ??= {});
    const className = spec.priorityClassName;
    if (className && !Object.hasOwn(classes, className))
      throw forbidden(kind, name, `no PriorityClass with name ${className} was found`);
    const computed = className ? classes[className]! : 0;
    if (spec.priority !== undefined && spec.priority !== computed)
      throw forbidden(
        kind,
        name,
        `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`,
      );
    spec.priority = computed;
    spec.preemptionPolicy ??= 'PreemptLowerPriority';
  },
};
