/** Binding: gives a pod to a node. Nothing is stored but the pod's new place. */
import { badRequest, conflict, plain } from '../api/errors.ts';
import { type FieldError, notSupported, required } from '../api/fielderror.ts';
import type { Binding, Pod } from '../api/generated/types.ts';
import type { Kind } from '../api/kind.ts';
import { withCondition } from '../api/rules/condition.ts';
import { checkPreconditions, modify } from './modify.ts';
import type { Registry, WriteOptions } from './registry.ts';

/** `name` is the pod's; undefined when the path does not say. */
export async function bind(
  registry: Registry,
  pods: Kind,
  namespace: string,
  name: string | undefined,
  binding: Binding,
  options: WriteOptions,
): Promise<void> {
  const podName = binding.metadata.name ?? '';
  if (name !== undefined && podName !== name)
    throw badRequest('name in URL does not match name in Binding object');
  checkTarget(binding);
  await modify(registry, pods, namespace, podName, 'whole', options, (current) => {
    const pod = current.object() as Pod;
    checkPreconditions(pods, podName, binding.metadata, current, pod);
    assign(pod, podName, binding, registry.now());
    return pod;
  });
}

/** Kubernetes answers these with a bare 500, so clients know them as that. */
function checkTarget({ target }: Binding): void {
  const errors: FieldError[] = [];
  if (target?.kind && target.kind !== 'Node')
    errors.push(notSupported('target.kind', target.kind, ['Node', '<empty>']));
  if (!target?.name) errors.push(required('target.name'));
  const texts = errors.map((error) => `${error.field}: ${error.message}`);
  if (texts.length) throw plain(texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);
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
