/** Proves that a pod with thousands of containers costs its node no more than it is long, in turns that others share. */
import { expect, it } from 'vitest';
import type { ContainerStatus, Pod, PodStatus } from '../../api/generated/types.ts';
import { systemTimers } from '../../timers.ts';
import { SimulatedAddresses, SimulatedRuntime } from '../runtime/simulated/simulated-runtime.ts';
import { emptySetup } from './pod-setup.ts';
import { podStatus } from './pod-status.ts';
import { PodWorker } from './pod-worker.ts';
import type { StatusWriter } from './status-writer.ts';

const count = 5_000;
const containers = Array.from({ length: count }, (_, i) => ({ name: `c${i}`, image: 'i' }));

const podOf = (more: Partial<Pod> = {}): Pod => ({
  metadata: { name: 'many', namespace: 'default', uid: 'uid', resourceVersion: '1' },
  spec: { containers, restartPolicy: 'Always' },
  ...more,
});

interface Watched {
  readonly worker: PodWorker;
  readonly status: () => PodStatus;
}

function workerOf(pod: Pod): Watched {
  let shown: PodStatus = {};
  const writer = { set: (_: Pod, status: PodStatus) => (shown = status), forget: () => undefined };
  const worker = new PodWorker(pod, {
    client: undefined as never,
    runtime: new SimulatedRuntime(new SimulatedAddresses(), Date.now),
    writer: writer as unknown as StatusWriter,
    setup: () => emptySetup,
    hostIP: '192.0.2.1',
    backOff: { firstMs: 10_000, maxMs: 300_000, resetMs: 600_000 },
    secondMs: 1_000,
    now: Date.now,
    timers: systemTimers,
    admit: () => undefined,
    resizable: () => undefined,
    tell: () => undefined,
    removed: () => undefined,
    onError: (error) => {
      throw error;
    },
  });
  return { worker, status: () => shown };
}

/** Milliseconds of processor time until something is so, and the longest turn of the event loop in between. */
async function costUntil(isSo: () => boolean): Promise<{ costMs: number; turnMs: number }> {
  const cpuMs = (): number => process.cpuUsage().user / 1_000;
  const begun = cpuMs();
  let turnMs = 0;
  for (let before = cpuMs(); !isSo(); before = cpuMs()) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    turnMs = Math.max(turnMs, cpuMs() - before);
  }
  return { costMs: cpuMs() - begun, turnMs };
}

it('starts its containers', async () => {
  const { worker, status } = workerOf(podOf());
  const { costMs } = await costUntil(
    () => status().containerStatuses?.every(({ state }) => state?.running) ?? false,
  );
  // With a search for each of them among all, it was some seconds.
  expect(costMs).toBeLessThan(1_000);
  expect(status().phase).toBe('Running');
  expect(worker.containerOf(`c${count - 1}`)!.running).toBeDefined();
  await worker.close();
}, 60_000);

it('rests between looks while init containers end one after the other', async () => {
  const initContainers = containers.map(({ name, image }) => ({ name: `init-${name}`, image }));
  const { worker, status } = workerOf(
    podOf({ spec: { initContainers, containers, restartPolicy: 'Always' } }),
  );
  const ended = (): number =>
    status().initContainerStatuses?.filter(({ state }) => state?.terminated).length ?? 0;
  const { turnMs } = await costUntil(() => ended() >= 2);
  expect(ended()).toBeLessThan(20);
  expect(turnMs).toBeLessThan(1_000);
  await worker.close();
}, 60_000);

it('finds what its status says of containers that have ended', () => {
  const ended = (name: string): ContainerStatus => ({
    name,
    image: 'i',
    imageID: 'i',
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode: 0 } },
  });
  const begun = process.cpuUsage().user;
  const { phase } = podStatus({
    pod: podOf({ spec: { containers, restartPolicy: 'Never' } }),
    last: {},
    now: '2026-01-01T00:00:00Z',
    hostIP: '192.0.2.1',
    podIP: undefined,
    startTime: '2026-01-01T00:00:00Z',
    placed: true,
    init: [],
    containers: containers.map(({ name }) => ended(name)),
    ephemeral: [],
    over: false,
  });
  expect(phase).toBe('Succeeded');
  expect((process.cpuUsage().user - begun) / 1_000).toBeLessThan(100);
});
