/** The state of a pod in the words of `kubectl get`: what keeps it from running, or that it runs. */
import type { ApiObject, Json } from './objects.ts';

export function podState({ metadata, spec, status }: ApiObject): string {
  if (metadata.deletionTimestamp && status?.reason === 'NodeLost') return 'Unknown';
  if (metadata.deletionTimestamp && !['Succeeded', 'Failed'].includes(status?.phase)) return 'Terminating';
  const init = isMet(status, 'Initialized') ? undefined : initState(spec, status);
  if (init) return init;
  const containers: Json[] = status?.containerStatuses ?? [];
  const troubles = containers.map(containerTrouble).filter((each) => each !== undefined);
  // The first failing container says why; completed ones only count if none fails.
  const trouble = troubles.find((each) => each !== 'Completed') ?? troubles[0];
  if (trouble === undefined) return String(gateOf(status) || status?.reason || status?.phase || 'Unknown');
  // One that failed as a whole, such as by eviction, is not well although its containers ended well.
  if (trouble === 'Completed' && status?.phase === 'Failed') return String(status.reason || 'Failed');
  if (trouble !== 'Completed' || !containers.some(({ state, ready }) => state?.running && ready))
    return trouble;
  return isMet(status, 'Ready') ? 'Running' : 'NotReady';
}

const isMet = (status: Json, type: string): boolean =>
  status?.conditions?.some((each: Json) => each.type === type && each.status === 'True') ?? false;

const gateOf = (status: Json): string | undefined =>
  status?.conditions?.some((each: Json) => each.type === 'PodScheduled' && each.reason === 'SchedulingGated')
    ? 'SchedulingGated'
    : undefined;

function containerTrouble({ state }: Json): string | undefined {
  if (state?.waiting?.reason) return state.waiting.reason;
  return state?.terminated ? endOf(state.terminated) : undefined;
}

const endOf = ({ reason, signal, exitCode }: Json): string =>
  reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`);

/** The state of init containers; undefined when all are done, or run as long as the pod. */
function initState(spec: Json, status: Json): string | undefined {
  const all: Json[] = spec?.initContainers ?? [];
  for (const [done, { name, restartPolicy }] of all.entries()) {
    const now = status?.initContainerStatuses?.find((each: Json) => each.name === name);
    const { terminated, waiting } = now?.state ?? {};
    if (!now || terminated?.exitCode === 0 || (restartPolicy === 'Always' && now.started)) continue;
    if (terminated) return `Init:${endOf(terminated)}`;
    if (waiting?.reason && waiting.reason !== 'PodInitializing') return `Init:${waiting.reason}`;
    return `Init:${done}/${all.length}`;
  }
  return undefined;
}
