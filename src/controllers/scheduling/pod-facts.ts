/** The scheduler's cache of a pod: computed once per change, so that checking a thousand nodes is cheap. */

import type {
  Affinity,
  Pod,
  PodSpec,
  PodStatus,
  Toleration,
  TopologySpreadConstraint,
} from '../../api/generated/types.ts';
import { claimsOf, ephemeralClaimOf, ephemeralVolumesOf, isFinished } from '../../api/rules/pod/pod-facts.ts';
import { podRequests } from '../../api/rules/pod/pod-resources.ts';
import { anyAddress, type HostPort } from '../../api/rules/shared/taken-ports.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { milliValue, parseQuantity, toNumber } from '../../api/values/quantity.ts';
import { timeToMs } from '../../api/values/time.ts';

/** Requests assumed in scores for a pod without any, so that such pods spread, too. */
const assumedMilliCpu = 100;
const assumedMemoryBytes = 200 * 1024 * 1024;

/** The reason in the DisruptionTarget condition of a preempted pod. */
export const preemptionReason = 'PreemptionByScheduler';

/** Amounts by resource: milli-units of cpu, whole units of everything else. */
export type Amounts = ReadonlyMap<string, number>;

export interface PodFacts {
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly nodeName: string | undefined;
  /** Uid of its controller. */
  readonly ownerUid: string | undefined;
  readonly priority: number;
  readonly preemptionPolicy: string | undefined;
  /** The node that it waits for, after preempting pods there. */
  readonly nominatedNodeName: string | undefined;
  /** Whether it is being deleted because a pod of higher priority needs its place. */
  readonly preempted: boolean;
  readonly createdMs: number;
  /** When its node accepted it; Infinity before. */
  readonly startedMs: number;
  readonly schedulerName: string;
  readonly gated: boolean;
  readonly deleting: boolean;
  /** Whether it has finished, and uses nothing. */
  readonly finished: boolean;
  readonly requests: Amounts;
  /** Its requests for scores. */
  readonly cpuForScore: number;
  readonly memoryForScore: number;
  readonly hostPorts: readonly HostPort[];
  readonly nodeSelector: Readonly<Record<string, string>> | undefined;
  readonly affinity: Affinity | undefined;
  readonly tolerations: readonly Toleration[];
  readonly spread: readonly TopologySpreadConstraint[];
  /** Each once, however many volumes are of it. */
  readonly claims: readonly string[];
  /** Those of its claims that are for ephemeral volumes. */
  readonly ephemeralClaims: ReadonlySet<string>;
  readonly disks: readonly string[];
  /** Changes when the pod should be tried again. */
  readonly signature: string;
}

export function podFacts(pod: Pod): PodFacts {
  const { metadata, spec = {}, status = {} } = pod;
  const requests = amountsOf(podRequests(spec));
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    uid: metadata.uid!,
    namespace: metadata.namespace!,
    name: metadata.name!,
    labels: metadata.labels ?? {},
    nodeName: spec.nodeName || undefined,
    ownerUid: metadata.ownerReferences?.find((owner) => owner.controller)?.uid,
    priority: spec.priority ?? 0,
    preemptionPolicy: spec.preemptionPolicy,
    nominatedNodeName: status.nominatedNodeName || undefined,
    preempted: metadata.deletionTimestamp !== undefined && isPreempted(status),
    startedMs: status.startTime ? timeToMs(status.startTime) : Number.MAX_SAFE_INTEGER,
    createdMs: metadata.creationTimestamp ? timeToMs(metadata.creationTimestamp) : 0,
    schedulerName: spec.schedulerName ?? 'default-scheduler',
    gated: Boolean(spec.schedulingGates?.length),
    deleting: metadata.deletionTimestamp !== undefined,
    finished: isFinished(status.phase),
    requests,
    cpuForScore: requests.get('cpu') ?? assumedMilliCpu,
    memoryForScore: requests.get('memory') ?? assumedMemoryBytes,
    hostPorts: hostPortsOf(spec),
    nodeSelector: spec.nodeSelector,
    affinity: spec.affinity,
    tolerations: spec.tolerations ?? [],
    spread: spec.topologySpreadConstraints ?? [],
    claims: [...new Set(claimsOf(pod))],
    ephemeralClaims: new Set(ephemeralVolumesOf(pod).map((volume) => ephemeralClaimOf(pod, volume))),
    disks: disksOf(spec),
    signature: jsonText([metadata.generation, metadata.labels, spec.schedulingGates, spec.tolerations]),
  };
}

const isPreempted = ({ conditions = [] }: PodStatus): boolean =>
  conditions.some(({ type, reason }) => type === 'DisruptionTarget' && reason === preemptionReason);

/** A resource list as numbers. */
export function amountsOf(list: Readonly<Record<string, string>> | undefined): Map<string, number> {
  const amounts = new Map<string, number>();
  for (const [name, text] of Object.entries(list ?? {})) {
    const quantity = parseQuantity(text);
    const amount = name === 'cpu' ? milliValue(quantity) : toNumber(quantity);
    if (amount > 0) amounts.set(name, amount);
  }
  return amounts;
}

function hostPortsOf(spec: PodSpec): HostPort[] {
  const ports = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap(
    (container) => container.ports ?? [],
  );
  return ports
    .filter(({ hostPort }) => hostPort)
    .map(({ protocol, hostIP, hostPort }) => ({
      protocol: protocol ?? 'TCP',
      ip: hostIP || anyAddress,
      port: hostPort!,
    }));
}

/** Disks that can be attached once per node, unless all uses are read-only. */
function disksOf(spec: PodSpec): string[] {
  return (spec.volumes ?? []).flatMap((volume) => {
    const { gcePersistentDisk: gce, awsElasticBlockStore: aws, rbd, iscsi } = volume;
    if (gce && !gce.readOnly) return [`gce/${gce.pdName}`];
    if (aws) return [`aws/${aws.volumeID}`];
    if (rbd && !rbd.readOnly) return [`rbd/${rbd.pool}/${rbd.image}`];
    if (iscsi && !iscsi.readOnly) return [`iscsi/${iscsi.iqn}/${iscsi.lun}`];
    return [];
  });
}
