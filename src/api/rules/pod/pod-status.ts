/** Pod status: defaults of new pods, and rules for updates by the node. */

import { child, duplicate, forbidden, index, invalid } from '../../errors/field-error.ts';
import type { ContainerStatus, Pod, PodSpec, PodStatus } from '../../generated/types.ts';
import { isIP, parseIP } from '../../values/addresses.ts';
import { isQualifiedName, isSubdomain1123 } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { isSidecar } from './container.ts';
import { podAnnotationChangeErrors, podAnnotationErrors } from './pod-annotations.ts';
import { qosClass } from './pod-resources.ts';

const systemConditions = new Set(['PodScheduled', 'Ready', 'Initialized']);

/** A new pod is Pending; with scheduling gates it has a condition that says so. */
export function newPodStatus(spec: PodSpec, now: string): PodStatus {
  const status: PodStatus = { phase: 'Pending', qosClass: qosClass(spec) };
  if (spec.schedulingGates?.length)
    status.conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        lastTransitionTime: now,
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ];
  return status;
}

/** The address has an old field (podIP) and a list (podIPs); the old one wins when they disagree. */
export function alignPodIPs(status: PodStatus): void {
  const first = status.podIPs?.[0]?.ip;
  if (status.podIP && status.podIP !== first) status.podIPs = [{ ip: status.podIP }];
  else if (first) status.podIP = first;
}

export function* podStatusErrors(pod: Pod, old: Pod): Findings {
  const status = pod.status ?? {};
  const oldStatus = old.status ?? {};
  const spec = old.spec ?? {};
  const { annotations } = pod.metadata;
  yield* podAnnotationChangeErrors(annotations, old.metadata.annotations, 'metadata.annotations');
  yield* podAnnotationErrors(annotations, spec, 'metadata.annotations');
  for (const [i, { type = '' }] of (status.conditions ?? []).entries())
    if (!systemConditions.has(type))
      yield* problemsOf(child(index('status.conditions', i), 'Type'), type, isQualifiedName(type));
  yield* nominationErrors(status, oldStatus, spec);
  if ((status.qosClass ?? '') !== (oldStatus.qosClass ?? ''))
    yield invalid('status.qosClass', status.qosClass ?? '', 'field is immutable');
  yield* restartErrors(status, oldStatus, spec);
  yield* addressErrors(
    (status.podIPs ?? []).map(({ ip }) => ip ?? ''),
    'status.podIPs',
  );
  yield* hostAddressErrors(status);
}

function* nominationErrors(status: PodStatus, old: PodStatus, spec: PodSpec): Findings {
  const name = status.nominatedNodeName ?? '';
  if (!name || name === (old.nominatedNodeName ?? '')) return;
  yield* problemsOf('status.nominatedNodeName', name, isSubdomain1123(name));
  if (spec.nodeName)
    yield forbidden('status.nominatedNodeName', 'may not be set on pods that are already bound to a node');
}

/** A terminated container that is not restarted cannot run again. */
function* restartErrors(status: PodStatus, old: PodStatus, spec: PodSpec): Findings {
  const policy = spec.restartPolicy ?? 'Always';
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const endsFor = (policy: string, ended: ContainerStatus): boolean =>
    policy === 'Never' || (policy === 'OnFailure' && !ended.state?.terminated?.exitCode);
  yield* revivalErrors(status, old, 'containerStatuses', (ended) => endsFor(policy, ended));
  yield* revivalErrors(
    status,
    old,
    'initContainerStatuses',
    (ended) => !sidecars.has(ended.name) && endsFor(policy, ended),
  );
  yield* revivalErrors(status, old, 'ephemeralContainerStatuses', () => true);
}

function* revivalErrors(
  status: PodStatus,
  old: PodStatus,
  list: 'containerStatuses' | 'initContainerStatuses' | 'ephemeralContainerStatuses',
  ends: (ended: ContainerStatus) => boolean,
): Findings {
  const alive = new Set(
    (status[list] ?? []).filter(({ state }) => !state?.terminated).map(({ name }) => name ?? ''),
  );
  for (const [i, ended] of (old[list] ?? []).entries())
    if (ended.state?.terminated && alive.has(ended.name ?? '') && ends(ended))
      yield forbidden(
        child(index(`status.${list}`, i), 'state'),
        'may not be transitioned to non-terminated state',
      );
}

function* hostAddressErrors({ hostIP = '', hostIPs = [] }: PodStatus): Findings {
  if (hostIPs.length === 0) return;
  const first = hostIPs[0]?.ip ?? '';
  if (first !== hostIP) yield invalid('status.hostIPs[0].ip', first, 'must be equal to `hostIP`');
  yield* addressErrors(
    hostIPs.map(({ ip }) => ip ?? ''),
    'status.hostIPs',
  );
}

/** One address, or one of each family. */
function* addressErrors(addresses: readonly string[], path: string): Findings {
  for (const [i, address] of addresses.entries()) yield* problemsOf(index(path, i), address, isIP(address));
  const families = new Set(addresses.map((address) => parseIP(address)?.family));
  if (addresses.length > 2 || families.size < addresses.length)
    yield invalid(
      path,
      addresses.map((IP) => ({ IP })),
      'may specify no more than one IP for each IP family',
    );
  const seen = new Set<string>();
  for (const [i, IP] of addresses.entries()) {
    if (seen.has(IP)) yield duplicate(index(path, i), { IP });
    seen.add(IP);
  }
}
