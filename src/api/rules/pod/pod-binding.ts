/** Bindings of pods: what they may say, and what they do to a pod. */
import { conflict } from '../../errors/errors.ts';
import { type FieldError, notSupported, required } from '../../errors/field-error.ts';
import type { Binding, Pod } from '../../generated/types.ts';
import { withCondition } from '../shared/condition.ts';

export function bindingErrors({ target }: Binding): FieldError[] {
  const errors: FieldError[] = [];
  if (target?.kind && target.kind !== 'Node')
    errors.push(notSupported('target.kind', target.kind, ['Node', '<empty>']));
  if (!target?.name) errors.push(required('target.name'));
  return errors;
}

const bindings = { kind: 'Binding', resource: 'pods/binding', group: '' };

/** Assigns a pod to the node that its binding names. */
export function assign(pod: Pod, binding: Binding, now: string): void {
  const { name = '', annotations, labels } = binding.metadata;
  const spec = (pod.spec ??= {});
  if (pod.metadata.deletionTimestamp)
    throw conflict(bindings, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  if (spec.nodeName)
    throw conflict(
      bindings,
      name,
      `pod ${name} is already assigned to node ${JSON.stringify(spec.nodeName)}`,
    );
  if (spec.schedulingGates?.length)
    throw conflict(bindings, name, `pod ${name} has non-empty .spec.schedulingGates`);
  spec.nodeName = binding.target!.name;
  if (annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations };
  if (labels) pod.metadata.labels = { ...pod.metadata.labels, ...labels };
  const status = (pod.status ??= {});
  delete status.nominatedNodeName;
  status.conditions = withCondition(status.conditions, { type: 'PodScheduled', status: 'True' }, now);
}
