/** What is to be said of a pod and its containers, in sentences. */
import type { ApiObject, Json } from '../../core/objects.ts';
import { podState } from '../../core/pod-state.ts';

/** What keeps a pod from running as it should, in a sentence; undefined when nothing does. `events`: the latest first. */
export function podSentence(pod: ApiObject, events: readonly ApiObject[] = []): string | undefined {
  const { metadata, status } = pod;
  if (metadata.deletionTimestamp) {
    const waits = metadata.finalizers?.length ? ` It waits for ${metadata.finalizers.join(', ')}.` : '';
    return `It is being deleted.${waits}`;
  }
  const said = sentenceOf(status?.reason, status?.message);
  if (status?.phase === 'Succeeded') return undefined;
  const unscheduled = conditionOf(status, 'PodScheduled');
  if (unscheduled?.status === 'False')
    return `No node takes it. ${withoutPreemption(unscheduled.message)}`.trim();
  const container = statusesOf(pod)
    .map((each) => containerSentence(pod, each, events))
    .find(Boolean);
  if (container || said) return [said, container].filter(Boolean).join(' ');
  const ready = conditionOf(status, 'Ready');
  if (status?.phase !== 'Running' || ready?.status !== 'False') return undefined;
  const unready = statusesOf(pod).filter(({ state, ready }) => state?.running && ready === false);
  return unready.length
    ? `Container ${unready.map(({ name }) => name).join(', ')} runs, but is not ready.`
    : `It is not ready. ${ready.message ?? ''}`.trim();
}

/** The state in the words of `kubectl get`, with what a running pod lacks. */
export function stateWords(pod: ApiObject): string {
  const state = podState(pod);
  const ready = conditionOf(pod.status, 'Ready');
  return state === 'Running' && ready?.status === 'False' ? 'Running, not ready' : state;
}

const conditionOf = (status: Json, type: string): Json =>
  status?.conditions?.find((each: Json) => each.type === type);

const statusesOf = ({ status }: ApiObject): readonly Json[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

const sentenceOf = (reason: unknown, message: unknown): string =>
  reason || message ? `${[reason, message].filter(Boolean).join(': ')}.`.replace(/\.\.$/, '.') : '';

/** Why pods on nodes need not give way is no answer to why the pod fits on none. */
const withoutPreemption = (message = ''): string => message.replace(/ preemption: .*/s, '');

/** Words before the reason that say again what is not pulled. */
const pullWords =
  /^(?:Back-off pulling image "[^"]*"(?:: )?(?:ErrImagePull: )?|(?:failed to pull(?: and unpack)? image|image) "[^"]*"(?: cannot be pulled)?: )+/i;

/** What is wrong with a container. */
function containerSentence(
  { spec }: ApiObject,
  { name, state, lastState, restartCount = 0 }: Json,
  events: readonly ApiObject[],
): string | undefined {
  const { waiting, terminated } = state ?? {};
  if (waiting?.reason === 'CrashLoopBackOff') {
    const ended = lastState?.terminated;
    const probe = ended?.signal || killedCodes.has(ended?.exitCode) ? killedBy(name, events) : undefined;
    return `Container ${name} ends again and again, last with ${endWords(ended)}${probe ? `: ${probe}` : '.'}`;
  }
  if (/^(ErrImagePull|ImagePullBackOff)$/.test(waiting?.reason)) {
    const { image = '' } =
      [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find((each) => each.name === name) ?? {};
    const why = (waiting.message ?? '').replace(pullWords, '');
    return `Image ${image} cannot be pulled: ${why || waiting.reason}`;
  }
  if (waiting?.reason && !['ContainerCreating', 'PodInitializing'].includes(waiting.reason))
    return `Container ${name} cannot start: ${waiting.message || waiting.reason}`;
  if (terminated && terminated.exitCode !== 0)
    return `Container ${name} has ended with ${endWords(terminated)}${restartCount ? `, after ${restartCount} restarts` : ''}.`;
  return undefined;
}

/** How processes end that are asked to, or killed. */
const killedCodes = new Set([137, 143]);

/** What the probe has found that a container was ended for. */
const killedBy = (container: string, events: readonly ApiObject[]): string | undefined =>
  events.find(
    ({ involvedObject, message }) =>
      involvedObject?.fieldPath?.endsWith(`{${container}}`) &&
      /^(Liveness|Startup) probe failed/.test(message ?? ''),
  )?.message;

/** What the agent says of a container that waits, in fewer words: `back-off 2m40s restarting failed container=… pod=…`. */
export function waitingWords({ reason, message }: Json): string | undefined {
  const [, pause] = /^back-off (\S+) restarting failed/.exec(message ?? '') ?? [];
  return reason === 'CrashLoopBackOff' && pause ? `It is started again after a pause of ${pause}.` : message;
}

/** `exit code 137, too much memory`. */
export function endWords(terminated: Json): string {
  const { exitCode, signal, reason, message } = terminated ?? {};
  const how = signal ? `signal ${signal}` : `exit code ${exitCode ?? 'unknown'}`;
  const why =
    reason === 'OOMKilled'
      ? 'too much memory (OOMKilled)'
      : ['Error', 'Completed', undefined].includes(reason)
        ? ''
        : reason;
  return [how, why, message?.trim()].filter(Boolean).join(', ');
}

/** What runs a container, by the beginning of its id: `process://…`, `containerd://…`. */
export function runtimeWords(containerId: unknown): string {
  const [, runtime] = /^([\w-]+):\/\//.exec(String(containerId ?? '')) ?? [];
  if (!runtime) return '';
  if (runtime === 'process') return 'a process of the node';
  return runtime === 'simulated' ? 'simulated, nothing runs' : `a container of ${runtime}`;
}

/** `GET :8080/healthz every 10s`. */
export function probeWords(probe: Json): string {
  const { httpGet, tcpSocket, grpc, exec, periodSeconds = 10, initialDelaySeconds, failureThreshold } = probe;
  const what = httpGet
    ? `GET ${httpGet.host ?? ''}:${httpGet.port}${httpGet.path ?? '/'}`
    : tcpSocket
      ? `TCP :${tcpSocket.port}`
      : grpc
        ? `gRPC :${grpc.port}`
        : (exec?.command ?? []).join(' ');
  const more = [
    `every ${periodSeconds}s`,
    initialDelaySeconds && `after ${initialDelaySeconds}s`,
    failureThreshold && `fails after ${failureThreshold}`,
  ].filter(Boolean);
  return `${what} ${more.join(', ')}`;
}
