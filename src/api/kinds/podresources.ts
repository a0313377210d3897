/** Pod resources: what a pod asks for in all, and the class of service that follows from it. */
import type { Container, PodSpec } from '../generated/types.ts';
import { compareQuantities, parseQuantity, sign } from '../quantity.ts';
import { addLists, largerLists, type ResourceList } from '../resourcelist.ts';

type Side = 'requests' | 'limits';

export const podRequests = (spec: PodSpec): ResourceList => podSum(spec, 'requests');
export const podLimits = (spec: PodSpec): ResourceList => podSum(spec, 'limits');

const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always';

/**
 * Containers run together, so their resources add up; init containers run before them one at a time, so the
 * largest counts. Sidecars are init containers that go on running: they count with the containers, and with every
 * init container after them. Pod-level values stand in for the sum, and overhead comes on top of requests.
 */
function podSum(spec: PodSpec, side: Side): ResourceList {
  let total: ResourceList = {};
  for (const container of spec.containers ?? []) total = addLists(total, container.resources?.[side]);
  let sidecars: ResourceList = {};
  let initial: ResourceList = {};
  for (const container of spec.initContainers ?? []) {
    const own = container.resources?.[side];
    if (isSidecar(container)) {
      total = addLists(total, own);
      sidecars = addLists(sidecars, own);
      initial = largerLists(initial, sidecars);
    } else initial = largerLists(initial, addLists(sidecars, own));
  }
  total = largerLists(total, initial);
  for (const [name, value] of Object.entries(spec.resources?.[side] ?? {})) total[name] = value;
  if (!spec.overhead) return total;
  if (side === 'requests') return addLists(total, spec.overhead);
  // A limit that is not there stays so: overhead alone limits nothing.
  const limited = Object.keys(spec.overhead).filter((name) => Object.hasOwn(total, name));
  return addLists(total, Object.fromEntries(limited.map((name) => [name, spec.overhead![name]!])));
}

export type QosClass = 'BestEffort' | 'Burstable' | 'Guaranteed';
const qosResources = ['cpu', 'memory'] as const;

export function qosClass(spec: PodSpec): QosClass {
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const parts = spec.resources ? [{ resources: spec.resources }] : containers;
  const given = (list: ResourceList | undefined, name: string): string | undefined => {
    const value = list?.[name];
    return value === undefined || sign(parseQuantity(value)) === 0 ? undefined : value;
  };
  const anything = parts.some(({ resources }) =>
    qosResources.some((name) => given(resources?.requests, name) ?? given(resources?.limits, name)),
  );
  if (!anything) return 'BestEffort';
  const guaranteed = parts.every(({ resources }) =>
    qosResources.every((name) => {
      const limit = given(resources?.limits, name);
      const request = given(resources?.requests, name) ?? limit;
      return limit !== undefined && compareQuantities(parseQuantity(request!), parseQuantity(limit)) === 0;
    }),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}
