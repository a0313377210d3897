/** Proves that pods run as processes of this machine: logs, restarts, probes, deletion, restarted agents. */
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { ContainerStatus, Pod } from '../../api/generated/types.ts';
import { configMaps, pods } from '../../client/resources.ts';
import { HostNetwork } from '../network/pod-network.ts';
import { ImageTable } from '../runtime/images.ts';
import { ProcessRuntime } from '../runtime/process/process-runtime.ts';
import { condition, useNode } from './agent.fixture.ts';
import type { Agent } from './agent.ts';

const node = useNode();

async function withAgent(): Promise<Agent> {
  const runtime = new ProcessRuntime({
    folder: node.folder,
    network: new HostNetwork('192.0.2.1'),
    images: await ImageTable.open(),
    now: Date.now,
    onError: (error) => node.errors.push(error),
  });
  return node.agent(runtime, { secondMs: 100 });
}

const sh = (script: string, more: object = {}) => ({
  name: 'c',
  image: 'sh',
  command: ['sh', '-c', script],
  ...more,
});
const first = (pod: Pod): ContainerStatus => pod.status?.containerStatuses?.[0] ?? {};
const phase = (wanted: string) => (pod: Pod) => pod.status?.phase === wanted;

/** The log, as the API server would get it. */
function logOf(agent: Agent, pod: string, query = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const connection = agent.connect();
    const sent = request({
      path: `/containerLogs/default/${pod}/c${query}`,
      createConnection: () => connection,
    });
    sent.on('error', reject).on('response', async (response) => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      resolve(text);
    });
    sent.end();
  });
}

/** Whether a process runs. A zombie (ended, but not yet reaped by its parent) counts as dead. */
const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !existsSync('/proc/self/stat') || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

describe('a process', () => {
  it('runs with its environment and volumes, and its output is the log', async () => {
    const agent = await withAgent();
    await node.client.create(configMaps, 'default', {
      metadata: { name: 'cm' },
      data: { a: 'from the map' },
    });
    const env = [
      { name: 'WHO', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'A', valueFrom: { configMapKeyRef: { name: 'cm', key: 'a' } } },
    ];
    await node.create('out', {
      restartPolicy: 'Never',
      volumes: [{ name: 'v', configMap: { name: 'cm' } }],
      containers: [
        sh('echo "$WHO $A"; cat /v/a || cat "$PWD/v/a"; exit 3', {
          env,
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        }),
      ],
    });
    const failed = await node.untilPod('out', phase('Failed'));
    expect(first(failed).state!.terminated).toMatchObject({ exitCode: 3, reason: 'Error' });
    expect(first(failed).containerID).toMatch(/^process:\/\/.+/);
    expect(await logOf(agent, 'out')).toContain('out from the map\n');
  });

  it('is restarted, and both logs are kept', async () => {
    const agent = await withAgent();
    await node.create('twice', { containers: [sh('echo "run $$$$"; exit 1')] });
    await node.untilPod('twice', (pod) => (first(pod).restartCount ?? 0) >= 2);
    for (const query of ['', '?previous=true'])
      await expect.poll(() => logOf(agent, 'twice', query)).toMatch(/^run \d+\n$/);
  });

  it('is probed by commands run beside it', async () => {
    await withAgent();
    const readinessProbe = { exec: { command: ['sh', '-c', `test -e ${node.folder}/go`] }, periodSeconds: 1 };
    await node.create('probed', { containers: [sh('exec sleep 1000', { readinessProbe })] });
    await node.untilPod('probed', phase('Running'));
    const { writeFile } = await import('node:fs/promises');
    await writeFile(`${node.folder}/go`, '');
    await node.untilPod('probed', (pod) => condition(pod, 'Ready')?.status === 'True');
  });

  it('ends in good order when its pod is deleted, with all its children', async () => {
    const agent = await withAgent();
    await node.create('tidy', {
      containers: [sh('trap "echo bye; exit 0" TERM; sleep 1000 & echo "child $!"; while :; do wait; done')],
    });
    await node.untilPod('tidy', phase('Running'));
    await expect.poll(() => logOf(agent, 'tidy')).toMatch(/child \d+/);
    const pid = Number(/child (\d+)/.exec(await logOf(agent, 'tidy'))![1]);
    expect(alive(pid)).toBe(true);
    await node.client.delete(pods, 'default', 'tidy');
    const last = await node.untilGone('tidy');
    expect(first(last).state!.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    await expect.poll(() => alive(pid)).toBe(false);
  });

  it('is gone with its agent, and comes back with the next', async () => {
    const before = await withAgent();
    await node.create('reborn', { containers: [sh('echo "pid $$$$"; exec sleep 1000')] });
    await node.untilPod('reborn', phase('Running'));
    await expect.poll(() => logOf(before, 'reborn')).toMatch(/pid \d+/);
    const pid = Number(/pid (\d+)/.exec(await logOf(before, 'reborn'))![1]);
    await node.agents.splice(0)[0]!.close();
    expect(alive(pid)).toBe(false);
    const agent = await withAgent();
    const back = await node.untilPod(
      'reborn',
      (pod) => first(pod).restartCount === 1 && !!first(pod).state?.running,
    );
    expect(first(back).lastState!.terminated).toMatchObject({
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
    });
    await expect.poll(() => logOf(agent, 'reborn')).toMatch(/pid \d+/);
  });
});
