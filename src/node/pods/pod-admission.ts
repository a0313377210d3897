/**
 * Pod admission: whether a node can run a pod bound to it, and has room for it. Pods may be bound without the scheduler, so
 * the node checks again.
 */
import type { Pod } from '../../api/generated/types.ts';
import { podRequests } from '../../api/rules/pod/pod-resources.ts';
import { isExtendedResource } from '../../api/rules/shared/resource-name.ts';
import { anyAddress, type HostPort, TakenPorts } from '../../api/rules/shared/taken-ports.ts';
import { compareQuantities, milliValue, parseQuantity, sign, toNumber } from '../../api/values/quantity.ts';
import { addTo, type ResourceList } from '../../api/values/resource-list.ts';
import { sysctlProblem } from '../machine/sysctls.ts';
import type { PodRefusal } from './pod-worker.ts';

/** The pods admitted earlier that have not ended. */
export interface Held {
  readonly count: number;
  /** Called only if one of them might conflict. */
  pods(): readonly Pod[];
}

/** @param system the operating system that containers see, in Go's word */
export function refusalOf(
  pod: Pod,
  held: Held,
  allocatable: ResourceList,
  system: string,
): PodRefusal | undefined {
  return (
    otherSystem(pod, system) ??
    tooMany(held, allocatable) ??
    tooMuch(pod, held, allocatable) ??
    portTaken(pod, held) ??
    sysctlForbidden(pod)
  );
}

/**
 * Why a pod for another operating system is refused. Pod security is less strict for pods that say they are for
 * Windows, so such a pod must not run on another system. Pods may be bound without the scheduler, which would have
 * checked the selector.
 */
function otherSystem({ spec }: Pod, system: string): PodRefusal | undefined {
  const wanted = spec?.nodeSelector?.['kubernetes.io/os'];
  if (wanted !== undefined && wanted !== system)
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    };
  if (spec?.os?.name !== undefined && spec.os.name !== system)
    return {
      reason: 'PodOSNotSupported',
      message: "Failed to admit pod as the OS field doesn't match node OS",
    };
  return undefined;
}

function sysctlForbidden(pod: Pod): PodRefusal | undefined {
  const message = sysctlProblem(pod);
  return message === undefined ? undefined : { reason: 'SysctlForbidden', message };
}

/**
 * Why a node cannot grant a running pod the resources it asks for now: never (`Infeasible`), or not yet
 * (`Deferred`).
 */
export function resizeRefusalOf(pod: Pod, held: Held, allocatable: ResourceList): PodRefusal | undefined {
  const nobody: Held = { count: 0, pods: () => [] };
  const alone = tooMuch(pod, nobody, allocatable);
  if (alone)
    return {
      reason: 'Infeasible',
      message: alone.message.replace('enough resource', 'enough capacity').replace(', used: 0', ''),
    };
  const now = tooMuch(pod, held, allocatable);
  return now && { reason: 'Deferred', message: now.message };
}

function tooMany({ count }: Held, { pods }: ResourceList): PodRefusal | undefined {
  const room = Number(pods ?? Number.POSITIVE_INFINITY);
  return count < room ? undefined : outOf('pods', '1', String(count), String(room));
}

function tooMuch(pod: Pod, held: Held, allocatable: ResourceList): PodRefusal | undefined {
  // As in a kubelet, extended resources that the node does not know are left to the scheduler.
  const wanted = Object.entries(podRequests(pod.spec ?? {})).filter(
    ([name, amount]) =>
      name !== 'pods' &&
      (allocatable[name] !== undefined || !isExtendedResource(name)) &&
      sign(parseQuantity(amount)) > 0,
  );
  if (!wanted.length) return undefined;
  const used: ResourceList = {};
  for (const { spec } of held.pods()) addTo(used, podRequests(spec ?? {}));
  for (const [name, amount] of wanted) {
    const total: ResourceList = { [name]: used[name] ?? '0' };
    addTo(total, { [name]: amount });
    const capacity = allocatable[name] ?? '0';
    if (compareQuantities(parseQuantity(total[name]!), parseQuantity(capacity)) > 0)
      return outOf(name, amount, used[name] ?? '0', capacity);
  }
  return undefined;
}

/** Kubernetes' message has plain numbers: thousandths of processors, bytes, pods. */
function outOf(name: string, requested: string, used: string, capacity: string): PodRefusal {
  const number = name === 'cpu' ? milliValue : toNumber;
  const [wants, uses, has] = [requested, used, capacity].map((text) => number(parseQuantity(text)));
  return {
    reason: `OutOf${name}`,
    message: `Node didn't have enough resource: ${name}, requested: ${wants}, used: ${uses}, capacity: ${has}`,
  };
}

function portTaken(pod: Pod, held: Held): PodRefusal | undefined {
  const wanted = hostPorts(pod);
  if (!wanted.length) return undefined;
  const taken = new TakenPorts();
  for (const other of held.pods()) taken.add(hostPorts(other));
  return wanted.some((one) => taken.has(one))
    ? { reason: 'NodePorts', message: 'Predicate NodePorts failed' }
    : undefined;
}

const hostPorts = ({ spec }: Pod): HostPort[] =>
  [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []).filter((one) => one.restartPolicy === 'Always'),
  ]
    .flatMap(({ ports = [] }) => ports)
    .filter(({ hostPort }) => hostPort)
    .map(({ hostPort, protocol = 'TCP', hostIP }) => ({
      port: hostPort!,
      protocol,
      ip: hostIP || anyAddress,
    }));
