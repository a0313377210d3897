/** Pods in tables: the Status column is computed from all containers. */

import type {
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  Pod,
  PodStatus,
} from '../../generated/types.ts';
import type { Column, TableRowCondition } from '../../kind/kind.ts';
import { type Cell, elapsed } from '../../values/elapsed.ts';
import { ageCell, ageColumn, nameColumn, orNone } from '../shared/columns.ts';
import { isSidecar } from './container.ts';
import { isFinished } from './pod-facts.ts';

export const podColumns: readonly Column[] = [
  nameColumn,
  { name: 'Ready', description: 'Containers that are ready, out of all that go on running.' },
  { name: 'Status', description: 'How the pod and its containers are doing.' },
  { name: 'Restarts', description: 'How often containers were restarted, and when the last one was.' },
  ageColumn,
  { name: 'IP', description: 'Address of the pod.', wide: true },
  { name: 'Node', description: 'Node the pod runs on.', wide: true },
  { name: 'Nominated Node', description: 'Node that is being cleared for the pod.', wide: true },
  {
    name: 'Readiness Gates',
    description: 'Further conditions that are true, out of all that must be.',
    wide: true,
  },
];

export function podCells(pod: Pod): Cell[] {
  const status = pod.status ?? {};
  const summary = summarize(pod);
  const total =
    (pod.spec?.containers?.length ?? 0) + (pod.spec?.initContainers?.filter(isSidecar).length ?? 0);
  const { restarts } = summary;
  return [
    pod.metadata.name,
    `${summary.ready}/${total}`,
    summary.text,
    restarts.count > 0 && restarts.last
      ? elapsed(restarts.last, `${restarts.count} (`, ' ago)')
      : String(restarts.count),
    ageCell(pod),
    orNone(status.podIPs?.[0]?.ip ?? status.podIP),
    orNone(pod.spec?.nodeName),
    orNone(status.nominatedNodeName),
    gatesCell(pod),
  ];
}

/** The row condition of finished pods, so that clients can hide them. */
export function podRowConditions(pod: Pod): TableRowCondition[] | undefined {
  const completed = (reason: string, message: string): TableRowCondition[] => [
    { type: 'Completed', status: 'True', reason, message },
  ];
  if (pod.status?.phase === 'Succeeded') return completed('Succeeded', 'The pod has completed successfully.');
  if (pod.status?.phase === 'Failed') return completed('Failed', 'The pod failed.');
  return undefined;
}

function gatesCell(pod: Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const met = new Set((pod.status?.conditions ?? []).filter(isTrue).map(({ type }) => type));
  return `${gates.filter(({ conditionType }) => met.has(conditionType)).length}/${gates.length}`;
}

const isTrue = ({ status }: { status?: string }): boolean => status === 'True';

const isMet = (status: PodStatus, type: string): boolean =>
  status.conditions?.some((condition) => condition.type === type && isTrue(condition)) ?? false;

/** Restarts of containers, and the end of the last container before its restart. */
class Restarts {
  count = 0;
  last = '';

  add(container: ContainerStatus): void {
    this.count += container.restartCount ?? 0;
    const ended = container.lastState?.terminated?.finishedAt ?? '';
    // Times have one format, so they can be compared as text.
    if (ended > this.last) this.last = ended;
  }
}

interface Summary {
  readonly text: string;
  readonly ready: number;
  readonly restarts: Restarts;
}

function summarize(pod: Pod): Summary {
  const status = pod.status ?? {};
  const gated = status.conditions?.some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  );
  const initial = initProgress(pod);
  let text = initial.text || (gated ? 'SchedulingGated' : status.reason || status.phase || '');
  let { ready } = initial;
  let restarts = initial.all;
  if (!initial.text || isMet(status, 'Initialized')) {
    const main = mainProgress(status, text, initial.sidecars);
    text = main.text;
    ready += main.ready;
    restarts = main.restarts;
  }
  if (pod.metadata.deletionTimestamp) {
    if (status.reason === 'NodeLost') text = 'Unknown';
    else if (!isFinished(status.phase)) text = 'Terminating';
  }
  return { text, ready, restarts };
}

/** The state of the init containers. `text` is empty when none of them blocks the pod. */
function initProgress(pod: Pod): { text: string; ready: number; all: Restarts; sidecars: Restarts } {
  const containers = pod.spec?.initContainers ?? [];
  const names = new Set(containers.filter(isSidecar).map(({ name }) => name));
  const all = new Restarts();
  const sidecars = new Restarts();
  let ready = 0;
  for (const [i, container] of (pod.status?.initContainerStatuses ?? []).entries()) {
    const sidecar = names.has(container.name);
    all.add(container);
    if (sidecar) sidecars.add(container);
    const { terminated, waiting } = container.state ?? {};
    if (terminated && !terminated.exitCode) continue;
    if (sidecar && container.started) {
      if (container.ready) ready += 1;
      continue;
    }
    const reason = terminated
      ? endText(terminated)
      : waiting?.reason && waiting.reason !== 'PodInitializing'
        ? waiting.reason
        : `${i}/${containers.length}`;
    return { text: `Init:${reason}`, ready, all, sidecars };
  }
  return { text: '', ready, all, sidecars };
}

/** From the last container to the first, so that the first one's state wins. */
function mainProgress(status: PodStatus, initialText: string, restarts: Restarts): Summary {
  let text = initialText;
  let failure = '';
  let ready = 0;
  for (const container of (status.containerStatuses ?? []).toReversed()) {
    restarts.add(container);
    const { waiting, terminated, running }: ContainerState = container.state ?? {};
    if (waiting?.reason) text = waiting.reason;
    else if (terminated) {
      text = endText(terminated);
      if (terminated.exitCode) failure = text;
    } else if (container.ready && running) ready += 1;
  }
  if (text === 'Completed') {
    if (ready > 0 && isMet(status, 'Ready')) text = 'Running';
    else if (failure) text = failure;
    else if (ready > 0) text = 'NotReady';
  }
  return { text, ready, restarts };
}

function endText({ reason, signal, exitCode }: ContainerStateTerminated): string {
  if (reason) return reason;
  return signal ? `Signal:${signal}` : `ExitCode:${exitCode ?? 0}`;
}
