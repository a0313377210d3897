/** Pod resources: what a pod asks for in all, and the class of service that follows from it. */
import type { Container, PodSpec } from '../generated/types.ts';
import { setKey } from '../object.ts';
import { compareQuantities, parseQuantity, sign } from '../quantity.ts';
import { addTo, type ResourceList, raiseTo } from '../resourcelist.ts';

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
  const total: ResourceList = {};
  for (const container of spec.containers ?? []) addTo(total, container.resources?.[side]);
  const sidecars: ResourceList = {};
  const initial: ResourceList = {};
  for (const container of spec.initContainers ?? []) {
    const own = container.resources?.[side] ?? {};
    if (isSidecar(container)) {
      addTo(total, own);
      addTo(sidecars, own);
    } else raiseTo(initial, together(own, sidecars));
  }
  raiseTo(total, initial);
  for (const [name, value] of Object.entries(spec.resources?.[side] ?? {})) setKey(total, name, value);
  // A limit that is not there stays so: overhead alone limits nothing.
  for (const [name, value] of Object.entries(spec.overhead ?? {}))
    if (side === 'requests' || Object.hasOwn(total, name)) addTo(total, { [name]: value });
  return total;
}

/**
 * What an init container and the sidecars before it ask for at once, of the resources the container names. Those
 * it does not name are no more than the sidecars', which count with the containers anyway.
 */
function together(own: ResourceList, sidecars: ResourceList): ResourceList {
  const sum = { ...own };
  for (const name of Object.keys(own))
    if (Object.hasOwn(sidecars, name)) addTo(sum, { [name]: sidecars[name]! });
  return sum;
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
