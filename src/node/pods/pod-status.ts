/**
 * The status of a pod, derived from its containers. A pure function from what the agent knows to what the API
 * shows. Rules and texts are those of a Kubernetes node.
 */

import type {
  Container,
  ContainerStatus,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
} from '../../api/generated/types.ts';
import { isFinished } from '../../api/rules/pod/pod-facts.ts';

type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/** What an agent knows of a pod. */
export interface PodStatusFacts {
  /** The pod with its status in the API, which has the conditions of other writers. */
  readonly pod: Pod;
  /** The status that the node last wanted to write; the API may not have it yet. */
  readonly last: PodStatus;
  /** The current time in the API's format. */
  readonly now: string;
  readonly hostIP: string;
  readonly podIP: string | undefined;
  /** When the node admitted the pod. */
  readonly startTime: string;
  /** Whether folder, volumes and network are ready. */
  readonly placed: boolean;
  /** In the order of the spec. */
  readonly init: readonly ContainerStatus[];
  readonly containers: readonly ContainerStatus[];
  readonly ephemeral: readonly ContainerStatus[];
  /** Whether nothing runs any more and nothing will: the phase must be `Succeeded` or `Failed`. */
  readonly over: boolean;
  /** Why the node has ended the pod; shown when nothing runs any more. */
  readonly verdict?: { readonly reason: string; readonly message: string };
  /** The state of a resize under way. */
  readonly resize?: ResizeState | undefined;
}

export interface ResizeState {
  /** Pending: not granted by the node. In progress: granted, but not yet applied. */
  readonly type: 'PodResizePending' | 'PodResizeInProgress';
  readonly reason?: string;
  readonly message?: string;
}

/** Conditions that are removed when they no longer hold. */
export const passingConditions: ReadonlySet<string> = new Set<ResizeState['type']>([
  'PodResizePending',
  'PodResizeInProgress',
]);

export const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always';

/** Whether a container is restarted after this exit code. Its own restart policy overrides the pod's. */
export const restartsAfter = (spec: PodSpec, container: Container, exitCode: number): boolean => {
  const policy = container.restartPolicy ?? spec.restartPolicy ?? 'Always';
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
};

export function podStatus(facts: PodStatusFacts): PodStatus {
  const { pod, hostIP, podIP, over, verdict } = facts;
  const before = pod.status ?? {};
  const failed = over && verdict !== undefined;
  // A final phase never changes.
  const phase = isFinished(before.phase) ? (before.phase as Phase) : failed ? 'Failed' : podPhase(facts);
  const { generation } = pod.metadata;
  const status: PodStatus = {
    ...before,
    phase,
    observedGeneration: generation ?? before.observedGeneration,
    conditions: conditionsOf(facts, phase),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    startTime: before.startTime ?? facts.startTime,
    containerStatuses: [...facts.containers],
  };
  if (failed && !isFinished(before.phase)) {
    status.reason = verdict.reason;
    status.message = verdict.message;
  }
  if (podIP) {
    status.podIP = podIP;
    status.podIPs = [{ ip: podIP }];
  }
  if (facts.init.length) status.initContainerStatuses = [...facts.init];
  if (facts.ephemeral.length) status.ephemeralContainerStatuses = [...facts.ephemeral];
  return status;
}

interface Count {
  waiting: number;
  running: number;
  stopped: number;
  succeeded: number;
}

function podPhase({ pod, init, containers, over }: PodStatusFacts): Phase {
  const spec = pod.spec ?? {};
  const sidecarNames = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const begun = hasBegun(containers);
  let initPending = 0;
  let initFailed = 0;
  const count: Count = { waiting: 0, running: 0, stopped: 0, succeeded: 0 };
  for (const status of init) {
    const { running, terminated } = status.state ?? {};
    if (sidecarNames.has(status.name)) {
      // Ended sidecars do not count for the phase.
      if (running) count.running++;
      else if (!terminated && !status.lastState?.terminated) count.waiting++;
      if (!begun && !status.started && !terminated) initPending++;
    } else {
      const ended = terminated ?? status.lastState?.terminated;
      if (running || !ended) initPending++;
      else if (ended.exitCode) initFailed++;
      else if (!terminated) initPending++;
    }
  }
  for (const status of containers) countIn(count, status);
  if (initFailed && (spec.restartPolicy === 'Never' || over)) return 'Failed';
  if (over && count.running === 0) return lastPhase(count);
  if ((initPending && !begun) || initFailed || count.waiting) return 'Pending';
  if (count.running) return 'Running';
  if (!count.stopped) return 'Pending';
  return restingPhase(spec, containers, count);
}

function countIn(count: Count, { state, lastState }: ContainerStatus): void {
  if (state?.running) count.running++;
  else if (state?.terminated) {
    count.stopped++;
    if (!state.terminated.exitCode) count.succeeded++;
  } else if (lastState?.terminated) count.stopped++;
  else count.waiting++;
}

const lastPhase = ({ waiting, stopped, succeeded }: Count): Phase =>
  !waiting && stopped > 0 && stopped === succeeded ? 'Succeeded' : 'Failed';

/** The phase when every container has stopped: running, if some will be restarted. */
function restingPhase(spec: PodSpec, containers: readonly ContainerStatus[], count: Count): Phase {
  const specs = new Map(spec.containers?.map((container) => [container.name, container]));
  const comesBack = containers.some(
    ({ name, state }) =>
      !state?.terminated || restartsAfter(spec, specs.get(name) ?? {}, state.terminated.exitCode ?? 0),
  );
  return comesBack ? 'Running' : lastPhase(count);
}

/** Whether any container has run: then the init containers have finished and never run again. */
export const hasBegun = (containers: readonly ContainerStatus[]): boolean =>
  containers.some(
    ({ state, lastState }) => state?.running || state?.terminated || lastState?.terminated || false,
  );

type Verdict = Pick<PodCondition, 'status' | 'reason' | 'message'>;

const yes: Verdict = { status: 'True' };

function conditionsOf(facts: PodStatusFacts, phase: Phase): PodCondition[] {
  const { pod, placed, over } = facts;
  const before = pod.status?.conditions ?? [];
  const containersReady = containersReadyOf(facts, phase);
  const scheduled = before.find(({ type }) => type === 'PodScheduled');
  const own: [string, Verdict][] = [
    ['PodReadyToStartContainers', { status: placed && !over ? 'True' : 'False' }],
    ['Initialized', initializedOf(facts, phase)],
    ['Ready', readyOf(pod, before, containersReady)],
    ['ContainersReady', containersReady],
  ];
  if (scheduled?.status !== 'True') own.push(['PodScheduled', yes]);
  const { resize } = facts;
  if (resize && !over)
    own.push([resize.type, { status: 'True', reason: resize.reason, message: resize.message }]);
  const mine = new Set([...own.map(([type]) => type), ...passingConditions]);
  return [
    ...own.map(([type, verdict]) => condition(facts, type, verdict)),
    ...before.filter(({ type }) => !mine.has(type!)),
  ];
}

function condition({ pod, last, now }: PodStatusFacts, type: string, verdict: Verdict): PodCondition {
  const { status, reason, message } = verdict;
  // Compare with what was last written: the API shows writes late, and a time chosen by what it shows could change with
  // every write, without end.
  const before = last.conditions?.find((one) => one.type === type && one.status === status);
  const { generation } = pod.metadata;
  return {
    type,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    status,
    lastTransitionTime: before?.lastTransitionTime ?? now,
    ...(reason ? { reason } : {}),
    ...(message ? { message } : {}),
  };
}

const listText = (names: readonly (string | undefined)[]): string => `[${names.join(' ')}]`;

function initializedOf({ pod, init, containers }: PodStatusFacts, phase: Phase): Verdict {
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' };
  if (hasBegun(containers)) return yes;
  const sidecars = new Set((pod.spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const incomplete = init.filter(({ name, started, ready }) => !(sidecars.has(name) ? started : ready));
  if (!incomplete.length) return yes;
  return {
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: ${listText(incomplete.map(({ name }) => name))}`,
  };
}

function containersReadyOf({ pod, init, containers }: PodStatusFacts, phase: Phase): Verdict {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const sidecars = new Set((pod.spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const lasting = [...init.filter(({ name }) => sidecars.has(name)), ...containers];
  const unready = lasting.filter(({ ready }) => !ready);
  if (!unready.length) return yes;
  return {
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: ${listText(unready.map(({ name }) => name))}`,
  };
}

function readyOf({ spec }: Pod, conditions: readonly PodCondition[], containersReady: Verdict): Verdict {
  if (containersReady.status !== 'True') return containersReady;
  const closed: string[] = [];
  for (const { conditionType } of spec?.readinessGates ?? []) {
    const gate = conditions.find(({ type }) => type === conditionType);
    const name = JSON.stringify(conditionType);
    if (!gate) closed.push(`corresponding condition of pod readiness gate ${name} does not exist.`);
    else if (gate.status !== 'True')
      closed.push(`the status of pod readiness gate ${name} is not "True", but ${gate.status}`);
  }
  if (!closed.length) return yes;
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: closed.join(', ') };
}
