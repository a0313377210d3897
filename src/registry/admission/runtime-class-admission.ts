/** RuntimeClass: a new pod of a class gets the overhead of the class, and goes to nodes that can run it. */
import { forbidden } from '../../api/errors/errors.ts';
import type { Pod, PodSpec, RuntimeClass, Scheduling } from '../../api/generated/types.ts';
import { mergedTolerations } from '../../api/rules/pod/toleration-merge.ts';
import { setKey } from '../../api/text/object.ts';
import { compareQuantities, parseQuantity } from '../../api/values/quantity.ts';
import type { Admission, AdmissionPlugin } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import { subresourceOf, type Target } from '../target.ts';

type Overhead = Readonly<Record<string, string>>;

export const runtimeClassAdmission: AdmissionPlugin = {
  name: 'RuntimeClass',
  kinds: ['core/pods'],

  mutate(registry, admission) {
    if (!isNewPod(admission)) return;
    const { target, object } = admission;
    const spec = ((object as Pod).spec ??= {});
    const runtime = classOf(registry, target, spec);
    if (!runtime) return;
    const overhead = runtime.overhead?.podFixed;
    if (overhead) {
      if (spec.overhead && !sameAmounts(spec.overhead, overhead)) throw otherOverhead(target);
      spec.overhead = { ...overhead };
    }
    if (runtime.scheduling) addScheduling(target, spec, runtime.scheduling);
  },

  // Check again: a webhook may have changed the pod since `mutate`.
  validate(registry, admission) {
    if (!isNewPod(admission)) return;
    const { target, object } = admission;
    const { spec = {} } = object as Pod;
    const overhead = classOf(registry, target, spec)?.overhead?.podFixed;
    if (overhead) {
      if (!sameAmounts(spec.overhead ?? {}, overhead)) throw otherOverhead(target);
    } else if (spec.overhead)
      throw rejected(
        target,
        'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
      );
  },
};

const isNewPod = ({ operation, target: { part } }: Admission): boolean =>
  operation === 'create' && !subresourceOf(part);

const rejected = ({ kind, name }: Target, why: string) => forbidden(kind, name, why);

const otherOverhead = (target: Target) =>
  rejected(target, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");

/** The class that a pod names. */
function classOf({ view }: Registry, target: Target, spec: PodSpec): RuntimeClass | undefined {
  const name = spec.runtimeClassName;
  if (!name) return undefined;
  const entry = view.collection('node.k8s.io/runtimeclasses').get('', name);
  if (!entry) throw rejected(target, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
  return entry.peek() as RuntimeClass;
}

function sameAmounts(a: Overhead, b: Overhead): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every(
      (name) =>
        Object.hasOwn(b, name) && compareQuantities(parseQuantity(a[name]!), parseQuantity(b[name]!)) === 0,
    )
  );
}

function addScheduling(target: Target, spec: PodSpec, { nodeSelector, tolerations }: Scheduling): void {
  const labels = { ...spec.nodeSelector };
  for (const [label, value] of Object.entries(nodeSelector ?? {})) {
    if (Object.hasOwn(labels, label) && labels[label] !== value)
      throw rejected(
        target,
        `conflict: runtimeClass.scheduling.nodeSelector[${label}] = ${value}; pod.spec.nodeSelector[${label}] = ${labels[label]}`,
      );
    setKey(labels, label, value);
  }
  if (Object.keys(labels).length) spec.nodeSelector = labels;
  const merged = mergedTolerations([...(spec.tolerations ?? []), ...(tolerations ?? [])]);
  if (merged.length) spec.tolerations = merged;
}
