/** Indexed pods: facts about a pod that controllers need often, parsed once per change. */

import type { ContainerStatus, OwnerReference, Pod } from '../../api/generated/types.ts';
import { isFinished as hasFinished } from '../../api/rules/pod/pod-facts.ts';
import type { Entry } from '../../registry/view/entry.ts';

const deletionCostKey = 'controller.kubernetes.io/pod-deletion-cost';
export const completionIndexKey = 'batch.kubernetes.io/job-completion-index';
export const indexFailuresKey = 'batch.kubernetes.io/job-index-failure-count';

export interface NamedPort {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

export interface IndexedPod {
  readonly entry: Entry;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly finalizers: readonly string[];
  /** Its controller reference. */
  readonly controller: OwnerReference | undefined;
  readonly createdMs: number;
  /** Whether it is being deleted. */
  readonly marked: boolean;
  readonly nodeName: string;
  readonly hostname: string;
  readonly subdomain: string;
  /** Named ports of its containers. */
  readonly ports: readonly NamedPort[];
  readonly phase: string;
  readonly ips: readonly string[];
  readonly ready: boolean;
  /** When its Ready condition last changed; undefined when not known. */
  readonly readyChangedMs: number | undefined;
  /** Highest restart count of a container, and the sum of all. */
  readonly restartsMax: number;
  readonly restarts: number;
  readonly deletionCost: number;
  /** Its index in an Indexed job. */
  readonly completionIndex: number | undefined;
  /** Number of earlier failures of that index, where the job counts them. */
  readonly indexFailures: number;
  /** When it finished, as far as known. */
  readonly finishedMs: number;
}

export const isFinished = ({ phase }: IndexedPod): boolean => hasFinished(phase);

/** Whether it runs, or will run. */
export const isActive = (pod: IndexedPod): boolean => !isFinished(pod) && !pod.marked;

/** Time until a ready pod is available; infinite when it is not known since when it is ready. */
export function availableInMs({ readyChangedMs }: IndexedPod, minReadySeconds = 0, nowMs: number): number {
  if (minReadySeconds === 0) return 0;
  return readyChangedMs === undefined
    ? Number.POSITIVE_INFINITY
    : readyChangedMs + minReadySeconds * 1000 - nowMs;
}

/**
 * Time until the next ready pod becomes available without any change; Infinity for never. Call it with the time for
 * which the status was computed: pods that become available in between would be missed.
 */
export function nextAvailableInMs(
  pods: readonly IndexedPod[],
  minReadySeconds: number | undefined,
  nowMs: number,
): number {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const pod of pods) {
    const inMs = pod.ready ? availableInMs(pod, minReadySeconds, nowMs) : 0;
    if (inMs > 0) nextMs = Math.min(nextMs, inMs);
  }
  return nextMs;
}

export const controllerOf = (references: readonly OwnerReference[] | undefined): OwnerReference | undefined =>
  references?.find(({ controller }) => controller);

export function indexedPod(entry: Entry): IndexedPod {
  const { metadata, spec = {}, status = {} } = entry.peek() as Pod;
  const containers = status.containerStatuses ?? [];
  const statuses = [...(status.initContainerStatuses ?? []), ...containers];
  const readiness = status.conditions?.find(({ type }) => type === 'Ready');
  const createdMs = msOf(metadata.creationTimestamp) ?? 0;
  const readyChangedMs = msOf(readiness?.lastTransitionTime);
  const podIPs = (status.podIPs ?? []).map(({ ip }) => ip ?? '').filter(Boolean);
  return {
    entry,
    namespace: entry.namespace,
    name: entry.name,
    uid: metadata.uid ?? '',
    labels: metadata.labels,
    finalizers: metadata.finalizers ?? [],
    controller: controllerOf(metadata.ownerReferences),
    createdMs,
    marked: metadata.deletionTimestamp !== undefined,
    nodeName: spec.nodeName ?? '',
    hostname: spec.hostname ?? '',
    subdomain: spec.subdomain ?? '',
    ports: namedPorts(spec),
    phase: status.phase ?? '',
    ips: podIPs.length || !status.podIP ? podIPs : [status.podIP],
    ready: readiness?.status === 'True',
    readyChangedMs,
    restartsMax: Math.max(0, ...statuses.map(restartsOf)),
    restarts: statuses.reduce((sum, one) => sum + restartsOf(one), 0),
    deletionCost: integer(metadata.annotations?.[deletionCostKey]) ?? 0,
    completionIndex: integer(metadata.annotations?.[completionIndexKey]),
    indexFailures: integer(metadata.annotations?.[indexFailuresKey]) ?? 0,
    finishedMs: endOf(containers) ?? readyChangedMs ?? msOf(metadata.deletionTimestamp) ?? createdMs,
  };
}

const restartsOf = ({ restartCount = 0 }: ContainerStatus): number => restartCount;

/** Sidecars have ports, too. */
function namedPorts({ containers = [], initContainers = [] }: NonNullable<Pod['spec']>): NamedPort[] {
  const serving = [
    ...containers,
    ...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always'),
  ];
  return serving.flatMap(({ ports = [] }) =>
    ports.flatMap(({ name, protocol = 'TCP', containerPort = 0 }) =>
      name ? [{ name, protocol, port: containerPort }] : [],
    ),
  );
}

/** When the last container terminated; undefined while one runs. */
function endOf(statuses: readonly ContainerStatus[]): number | undefined {
  const ends = statuses.map(({ state }) => msOf(state?.terminated?.finishedAt));
  return ends.length && ends.every((end) => end !== undefined) ? Math.max(...ends) : undefined;
}

const msOf = (time: string | undefined | null): number | undefined => (time ? Date.parse(time) : undefined);

const integer = (text: string | undefined): number | undefined =>
  text !== undefined && /^-?\d{1,10}$/.test(text) ? Number(text) : undefined;
