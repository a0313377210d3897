/** What is not well about a pod: scheduling, images, containers, readiness, its end. */
import {
  type Any,
  conditionOf,
  deletionFindings,
  type Examine,
  type Finding,
  fromCondition,
  short,
  why,
} from './finding.ts';

/** How long containers may take to be created, and a pod to become ready, before that is a problem. */
const startMs = 60_000;
const readyMs = 30_000;
/** How long a restart is news. */
const restartMs = 10 * 60_000;

const imageReasons = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);
/** States on the way to running. */
const starting = new Set(['ContainerCreating', 'PodInitializing', '']);

export const podFindings: Examine = (pod) => {
  const { metadata, status = {} } = pod;
  if (metadata.deletionTimestamp) return deletionFindings(pod);
  if (status.phase === 'Succeeded') return [];
  if (status.phase === 'Failed') return failure(pod);
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled?.status === 'False')
    return [
      scheduled.reason === 'SchedulingGated'
        ? fromCondition(scheduled, 'waits for its scheduling gates', {
            severity: 'warning',
            afterMs: laterThan(scheduled.lastTransitionTime, startMs),
          })
        : fromCondition(
            { ...scheduled, message: withoutPreemption(scheduled.message) },
            'cannot be scheduled',
          ),
    ];
  const containers: Any[] = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const found = containers.flatMap((each) => containerFindings(pod, each));
  if (found.length > 0) return found.slice(0, 1);
  return [...unready(pod, containers), ...resize(pod)];
};

/** Why pods on nodes need not give way is no answer to why the pod fits on none. */
const withoutPreemption = (message = ''): string => message.replace(/ preemption: .*/s, '');

const laterThan = (time: unknown, ms: number): number => {
  const at = Date.parse(String(time ?? ''));
  return Number.isNaN(at) ? 0 : at + ms;
};

const ownerOf = ({ metadata }: Any): Any =>
  metadata.ownerReferences?.find(({ controller }: Any) => controller);

/** What pods of one owner have in common: the same container of the same workload. */
const familyOf = (pod: Any, container: string): string =>
  `${pod.metadata.namespace}/${ownerOf(pod)?.uid ?? pod.metadata.name} ${container}`;

function failure(pod: Any): Finding[] {
  const { status, metadata } = pod;
  // Jobs try again, and say themselves when they give up.
  const fate: Partial<Finding> =
    ownerOf(pod)?.kind === 'Job' ? { explainsJob: true } : { isOverOnceReplaced: true };
  const ended = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
    .map(({ name, state }: Any) => ({ name, ...state?.terminated }))
    .find(({ exitCode }) => exitCode > 0);
  const since =
    ended?.finishedAt ?? conditionOf(pod, 'Ready')?.lastTransitionTime ?? metadata.creationTimestamp ?? '';
  if (status.reason || !ended) {
    const said = why(status.reason, status.message) || 'no reason is given';
    const text = fate.explainsJob ? said : `failed: ${said}`;
    return [{ cause: text, text, severity: 'error', since, ...fate }];
  }
  const end = `container ${ended.name} ended with ${endText(ended)}`;
  const text = fate.explainsJob ? end : `failed: ${end}`;
  const log = logOf(pod, ended.name, ended, false);
  const cause = `${familyOf(pod, ended.name)} ${text}`;
  return [{ cause, text, severity: 'error', since, log, ...fate }];
}

/** The log that says more than the container's own last words. */
const logOf = ({ spec }: Any, container: string, ended: Any, isPrevious: boolean): Finding['log'] =>
  spec?.nodeName && ended?.containerID && !ended.message
    ? { node: spec.nodeName, container, isPrevious, id: ended.containerID }
    : undefined;

/** How a container ended: `exit code 3: last words`. */
function endText({ exitCode, signal, reason, message }: Any): string {
  const how = signal ? `signal ${signal}` : `exit code ${exitCode ?? 'unknown'}`;
  const killed = reason === 'OOMKilled' ? 'too much memory (OOMKilled)' : how;
  const named = reason && !['Error', 'OOMKilled', 'Completed'].includes(reason) ? ` (${reason})` : '';
  const lastLine = short(message).split('\n').filter(Boolean).at(-1);
  return `${killed}${named}${lastLine ? `, last line: ${lastLine}` : ''}`;
}

function containerFindings(pod: Any, container: Any): Finding[] {
  const { name, state = {}, lastState = {}, image, restartCount = 0 } = container;
  const began = pod.status.startTime ?? pod.metadata.creationTimestamp ?? '';
  const since = lastState.terminated?.finishedAt ?? began;
  const { reason = '', message } = state.waiting ?? {};
  if (state.waiting && imageReasons.has(reason)) {
    const wanted = imageOf(pod, name) ?? image;
    const text = `image ${wanted} cannot be pulled: ${pullReason(reason, message)}`;
    return [{ cause: `image ${wanted}`, text, severity: 'error', since: began }];
  }
  if (reason === 'CrashLoopBackOff') {
    const text = `crash loop of container ${name}: ${endText(lastState.terminated ?? {})}`;
    const log = logOf(pod, name, lastState.terminated, true);
    const cause = `${familyOf(pod, name)} crash`;
    return [{ cause, text, severity: 'error', since, log, ...killedBy(pod, container) }];
  }
  if (state.waiting && !starting.has(reason)) {
    const text = `container ${name} cannot start: ${why(reason, message)}`;
    return [{ cause: text, text, severity: 'error', since: began }];
  }
  if (state.waiting && reason !== 'PodInitializing') {
    const text = `container ${name} does not start`;
    return [
      {
        cause: text,
        text,
        severity: 'warning',
        since: began,
        afterMs: laterThan(began, startMs),
        isExplainedByEvents: true,
      },
    ];
  }
  const { terminated } = state.terminated?.exitCode > 0 ? state : restartCount > 0 ? lastState : ({} as Any);
  if (!terminated || terminated.exitCode === 0) return [];
  const text = `container ${name} has restarted ${restartCount === 1 ? 'once' : `${restartCount} times, last`} after ${endText(terminated)}`;
  const restarted = laterThan(terminated.finishedAt, restartMs);
  return [
    {
      cause: `${familyOf(pod, name)} restarts`,
      text,
      severity: 'warning',
      since: terminated.finishedAt ?? '',
      untilMs: restarted,
      log: logOf(pod, name, terminated, terminated !== state.terminated),
      ...killedBy(pod, container),
    },
  ];
}

/** How processes end that are asked to, or killed. */
const killedCodes = new Set([137, 143]);

/** A container that the node may have ended because of a probe: an event says what the probe has found. */
function killedBy({ spec = {} }: Any, { name, state, lastState }: Any): Partial<Finding> {
  const { livenessProbe, startupProbe } = specOf(spec, name) ?? {};
  const { signal, exitCode, reason } = state?.terminated ?? lastState?.terminated ?? {};
  if (!(livenessProbe ?? startupProbe) || reason === 'OOMKilled') return {};
  return signal || killedCodes.has(exitCode)
    ? { isExplainedByEvents: true, events: { begins: /^(Liveness|Startup) probe failed/ } }
    : {};
}

const specOf = ({ initContainers = [], containers = [] }: Any, container: string): Any =>
  [...initContainers, ...containers].find(({ name }: Any) => name === container);

const imageOf = ({ spec = {} }: Any, container: string): string | undefined => specOf(spec, container)?.image;

/** Words before the reason: about the pause between attempts, and that the image cannot be pulled, which is said already. */
const pullWords =
  /^(?:Back-off pulling image "[^"]*"(?:: )?(?:ErrImagePull: )?|rpc error: code = \w+ desc = |(?:failed to pull(?: and unpack)? image|image) "[^"]*"(?: cannot be pulled)?: )+/i;

function pullReason(reason: string, message: unknown): string {
  const text = short(message).replace(pullWords, '');
  return text || (reason === 'ImagePullBackOff' ? 'it is tried again with growing pauses' : reason);
}

/** All containers run, or wait for those before them, and the pod is not ready. */
function unready(pod: Any, containers: readonly Any[]): Finding[] {
  const ready = conditionOf(pod, 'Ready');
  if (ready?.status !== 'False' || containers.length === 0) return [];
  const names = containers.filter((each) => each.state?.running && !each.ready).map(({ name }) => name);
  const text = names.length
    ? `container ${names.join(', ')} is not ready`
    : `not ready: ${why(ready.reason, ready.message)}`;
  const since = ready.lastTransitionTime ?? '';
  return [
    {
      cause: `${familyOf(pod, names.join())} unready`,
      text,
      severity: 'warning',
      since,
      afterMs: laterThan(since, readyMs),
      isExplainedByEvents: names.length > 0,
    },
  ];
}

function resize(pod: Any): Finding[] {
  const pending = conditionOf(pod, 'PodResizePending');
  if (pending?.status !== 'True' || pending.reason !== 'Infeasible') return [];
  return [fromCondition(pending, 'cannot be resized', { severity: 'warning' })];
}
