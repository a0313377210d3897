/** Pod resources: the total requests and limits of a pod, and its QoS class. */
import type { Container, PodSpec } from '../../generated/types.ts';
import { setKey } from '../../text/object.ts';
import { compareQuantities, parseQuantity, sign } from '../../values/quantity.ts';
import { addTo, type ResourceList, raiseTo } from '../../values/resource-list.ts';

type Side = 'requests' | 'limits';

export const podRequests = (spec: PodSpec): ResourceList => podSum(spec, 'requests');
export const podLimits = (spec: PodSpec): ResourceList => podSum(spec, 'limits');

const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always';

/**
 * Containers run together, so their resources add up; init containers run before them one at a time, so the largest
 * counts. Sidecars are init containers that keep running: they count with the containers, and with every later init
 * container. Pod-level values replace the sum, and overhead is added to requests.
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
  // Overhead is added to existing limits only: a missing limit means unlimited.
  for (const [name, value] of Object.entries(spec.overhead ?? {}))
    if (side === 'requests' || Object.hasOwn(total, name)) addTo(total, { [name]: value });
  return total;
}

/**
 * What an init container and the sidecars before it use at once, of the resources the container names. For other
 * resources the sidecars alone count, and they are part of the containers' sum anyway.
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
