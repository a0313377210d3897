/** Binding: assigns a pod to a node. Only the pod is stored; the Binding is not. */
import { badRequest, conflict, invalid, plain, type StatusError } from '../../api/errors/errors.ts';
import { type FieldError, notSupported, required } from '../../api/errors/field-error.ts';
import type { Binding, Pod } from '../../api/generated/types.ts';
import { withCondition } from '../../api/rules/shared/condition.ts';
import type { Compatibility } from '../compatibility.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import type { Target } from '../target.ts';
import { checkPreconditions, modify } from './modify.ts';

export async function bind(
  registry: Registry,
  request: Request,
  target: Target,
  binding: Binding,
  compatibility: Compatibility = 'contract',
): Promise<void> {
  const name = binding.metadata.name ?? '';
  if (target.name !== name) throw badRequest('name in URL does not match name in Binding object');
  const errors = targetErrors(binding);
  if (errors.length) throw targetRefusal(name, errors, compatibility);
  await registry.admission.connect(registry, request, target, binding);
  await modify(registry, request, { ...target, part: 'whole' }, (current) => {
    const pod = current.object() as Pod;
    checkPreconditions(target.kind, name, binding.metadata, current, pod);
    assign(pod, name, binding, registry.now());
    return pod;
  });
}

function targetErrors({ target }: Binding): FieldError[] {
  const errors: FieldError[] = [];
  if (target?.kind && target.kind !== 'Node')
    errors.push(notSupported('target.kind', target.kind, ['Node', '<empty>']));
  if (!target?.name) errors.push(required('target.name'));
  return errors;
}

/** Kubernetes 1.1 refused these as it refuses any invalid object; a current server answers with a bare 500. */
function targetRefusal(
  name: string,
  errors: readonly FieldError[],
  compatibility: Compatibility,
): StatusError {
  if (compatibility === 'contract') return invalid({ kind: 'Binding', group: '' }, name, errors);
  const texts = errors.map((error) => `${error.field}: ${error.message}`);
  return plain(texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);
}

const bindings = { kind: 'Binding', resource: 'pods/binding', group: '' };

function assign(pod: Pod, name: string, binding: Binding, now: string): void {
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
  const { annotations, labels } = binding.metadata;
  if (annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations };
  if (labels) pod.metadata.labels = { ...pod.metadata.labels, ...labels };
  const status = (pod.status ??= {});
  delete status.nominatedNodeName;
  status.conditions = withCondition(status.conditions, { type: 'PodScheduled', status: 'True' }, now);
}
