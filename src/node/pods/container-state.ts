/**
 * Container states as the API shows them: of a new container, of one that has ended, of one that an earlier
 * agent ran.
 */
import type { Container, ContainerStateTerminated, ContainerStatus } from '../../api/generated/types.ts';
import { formatTime } from '../../api/values/time.ts';
import type { AdoptedContainer, ContainerExit, RunningContainer } from '../runtime/runtime.ts';

export const timeOf = (date: Date): string => formatTime(date.getTime());

export const newStatus = ({ name, image }: Container, reason: string): ContainerStatus => ({
  name,
  state: { waiting: { reason } },
  lastState: {},
  ready: false,
  restartCount: 0,
  image,
  imageID: '',
  started: false,
});

export const endedState = (
  { startedAt }: RunningContainer,
  exit: ContainerExit,
  containerID: string,
): ContainerStateTerminated => ({
  exitCode: exit.exitCode,
  ...(exit.signal ? { signal: exit.signal } : {}),
  reason: exit.reason,
  ...(exit.message ? { message: exit.message } : {}),
  startedAt: timeOf(startedAt),
  finishedAt: timeOf(exit.finishedAt),
  containerID,
});

/** Status of a container that an earlier agent ran: it has ended since; how is unknown. */
export function restoredStatus(before: ContainerStatus, nowMs: number): ContainerStatus {
  const status = { ...before, restartCount: before.restartCount ?? 0 };
  const { running } = before.state ?? {};
  if (!running) return status;
  return {
    ...status,
    ready: false,
    started: false,
    state: {
      terminated: {
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message: 'The container could not be located when the pod was terminated',
        startedAt: running.startedAt,
        finishedAt: formatTime(nowMs),
        containerID: before.containerID,
      },
    },
  };
}

/** Status of a container that an earlier agent started and that still runs. */
export function adoptedStatus(
  before: ContainerStatus,
  { startupProbe }: Container,
  { startedAt, attempt, image, shownImageId }: AdoptedContainer,
  containerID: string,
): ContainerStatus {
  const ended = before.state?.terminated ?? before.lastState?.terminated;
  // The earlier agent may have been killed before it could report this run.
  const known = before.containerID === containerID;
  return {
    ...before,
    state: { running: { startedAt: timeOf(startedAt) } },
    lastState: ended ? { terminated: ended } : {},
    started: known ? before.started : !startupProbe,
    ready: known && before.ready === true,
    restartCount: attempt,
    image,
    imageID: shownImageId,
    containerID,
  };
}
