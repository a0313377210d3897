/**
 * Proves that pods run as their specs say, with real processes: restart policies, init containers, probes,
 * every kind of end.
 */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'vitest';
import type { ContainerStatus, Pod } from '../../src/api/generated/types.ts';
import { describeWith } from '../support/tools.ts';
import { unusedPort } from './port-server.ts';
import {
  agentOf,
  hasEnded,
  isReady,
  podOf,
  processesOf,
  program,
  shell,
  useRunningCluster,
} from './running.ts';

const cluster = useRunningCluster();
const first = (pod: Pod): ContainerStatus => pod.status?.containerStatuses?.[0] ?? {};
const restarts = (count: number) => (pod: Pod) => (first(pod).restartCount ?? 0) >= count;
const file = (name: string) => path.join(cluster.folder, name);
/** Processes of pods whose command line contains this word. */
const running = (word: string) => processesOf(agentOf(cluster.folder)).filter((it) => it.includes(word));

describeWith('kubectl').concurrent('a container that ends', () => {
  it('is started again, or not, as the policy says', async ({ expect }) => {
    const [well, badly] = [shell('exit 0'), shell('exit 3')];
    const [always, onFailure, succeeded, failed] = await Promise.all([
      cluster.run(podOf('always', well), restarts(1)),
      cluster.run(podOf('on-failure', badly, { restartPolicy: 'OnFailure' }), restarts(1)),
      cluster.run(podOf('well', well, { restartPolicy: 'OnFailure' }), hasEnded),
      cluster.run(podOf('badly', badly, { restartPolicy: 'Never' }), hasEnded),
    ]);
    expect([always, onFailure].map(({ status }) => status!.phase)).not.toContain('Failed');
    expect([succeeded, failed].map((pod) => [pod.status!.phase, first(pod).restartCount])).toEqual([
      ['Succeeded', 0],
      ['Failed', 0],
    ]);
    expect(first(failed).state!.terminated).toMatchObject({ exitCode: 3, reason: 'Error' });
    expect((await cluster.kubectl.table('get', 'pod', 'well', 'badly')).map((row) => row[2])).toEqual([
      'STATUS',
      'Completed',
      'Error',
    ]);
  });

  it('by a signal tells so', async ({ expect }) => {
    // Kubernetes expands two dollar signs to one.
    const pod = await cluster.run(
      podOf('killed', shell('kill -KILL $$$$'), { restartPolicy: 'Never' }),
      hasEnded,
    );
    expect(first(pod).state!.terminated).toMatchObject({ exitCode: 137, signal: 9, reason: 'Error' });
  });
});

describeWith('kubectl').concurrent('init containers', () => {
  it('run in order, before all others, and again when they fail', async ({ expect }) => {
    const note = (name: string, end = '') => shell(`echo ${name} >> ${file('order')}; ${end}`, { name });
    const once = `[ -e ${file('tried')} ] || { touch ${file('tried')}; exit 1; }`;
    const pod = await cluster.run(
      podOf('ordered', note('main', 'exec sleep 1000'), {
        initContainers: [note('first'), note('second', once)],
      }),
    );
    const { stdout } = await cluster.kubectl.try('exec', 'ordered', '--', 'cat', file('order'));
    expect(stdout).toBe('first\nsecond\nsecond\nmain\n');
    expect(
      pod.status!.initContainerStatuses!.map((it) => [it.restartCount, it.state!.terminated!.reason]),
    ).toEqual([
      [0, 'Completed'],
      [1, 'Completed'],
    ]);
  });

  it('that fail for good are the end of the pod', async ({ expect }) => {
    const spec = { restartPolicy: 'Never', initContainers: [shell('exit 4', { name: 'init' })] };
    const pod = await cluster.run(podOf('stuck', shell('true'), spec), hasEnded);
    expect(pod.status!.phase).toBe('Failed');
    expect(first(pod).state!.waiting).toMatchObject({ reason: 'PodInitializing' });
    expect((await cluster.kubectl.table('get', 'pod', 'stuck'))[1]![2]).toBe('Init:Error');
  });
});

describeWith('kubectl').concurrent('probes', () => {
  it('of liveness end a container that does not answer any more', async ({ expect }) => {
    const port = await unusedPort();
    const source = `
      const { existsSync, rmSync } = require('node:fs');
      require('node:http').createServer((request, response) => {
        response.writeHead(existsSync(process.argv[1]) ? 500 : 200).end();
      }).listen(${port});
      process.on('SIGTERM', () => { rmSync(process.argv[1]); process.exit(0); });`;
    const probe = { httpGet: { path: '/', port }, periodSeconds: 1, timeoutSeconds: 30 };
    const probes = {
      // Until this has succeeded, the other probes do not run.
      startupProbe: { ...probe, failureThreshold: 30 },
      livenessProbe: { ...probe, failureThreshold: 1 },
      readinessProbe: probe,
    };
    await cluster.run(podOf('lively', program(source, [file('sick')], probes)));
    writeFileSync(file('sick'), '');
    const pod = await cluster.until('lively', (it) => restarts(1)(it) && isReady(it));
    expect(first(pod).lastState!.terminated).toMatchObject({ exitCode: 0 });
    const events = await cluster.kubectl.run('get', 'events', '--field-selector=involvedObject.name=lively');
    expect(events).toMatch(/Unhealthy .*Liveness probe failed/);
    expect(events).toMatch(/Killing/);
  });

  it('of readiness decide who gets requests of a service', async ({ expect }) => {
    const readinessProbe = { exec: { command: ['test', '-e', file('open')] }, periodSeconds: 1 };
    const spec = { selector: { app: 'shop' }, ports: [{ port: 80 }] };
    await cluster.client.post('/api/v1/namespaces/default/services', { metadata: { name: 'shop' }, spec });
    await cluster.run(
      podOf('shop', shell('exec sleep 1000', { readinessProbe })),
      (pod) => pod.status?.phase === 'Running',
    );
    const ready = async () => {
      const { body } = await cluster.client.get('/api/v1/namespaces/default/endpoints/shop');
      const [subset] = body.subsets ?? [];
      return [subset?.addresses?.length ?? 0, subset?.notReadyAddresses?.length ?? 0];
    };
    await expect.poll(ready).toEqual([0, 1]);
    writeFileSync(file('open'), '');
    await expect.poll(ready).toEqual([1, 0]);
  });
});

describeWith('kubectl').concurrent('a pod that is deleted', () => {
  it('may end in good order, within its time', async ({ expect }) => {
    const script = `trap 'touch ${file('bye')}; exit 0' TERM; echo up; sleep 1000 & wait`;
    await cluster.run(podOf('polite', shell(script), { terminationGracePeriodSeconds: 30 }));
    await cluster.command('logs', '-f', 'polite').until(/up/);
    await cluster.kubectl.run('delete', 'pod', 'polite', '--timeout=60s');
    expect(existsSync(file('bye'))).toBe(true);
    expect(running('polite')).toEqual([]);
  });

  it('is killed when its time is over, with all its children', async ({ expect }) => {
    const script = 'trap "" TERM; sleep 7777 & setsid sleep 7777 & echo up; while :; do sleep 1; done';
    await cluster.run(podOf('stubborn', shell(script)));
    await cluster.command('logs', '-f', 'stubborn').until(/up/);
    expect(running('sleep 7777')).not.toEqual([]);
    await cluster.kubectl.run('delete', 'pod', 'stubborn', '--grace-period=1', '--timeout=60s');
    expect(running('sleep 7777')).toEqual([]);
  });

  it('by force is gone at once, and its processes soon', async ({ expect }) => {
    const script = 'trap "" TERM; sleep 8888 & echo up; while :; do sleep 1; done';
    await cluster.run(podOf('forced', shell(script), { terminationGracePeriodSeconds: 300 }));
    await cluster.command('logs', '-f', 'forced').until(/up/);
    await cluster.kubectl.run('delete', 'pod', 'forced', '--force', '--grace-period=0');
    expect((await cluster.kubectl.try('get', 'pod', 'forced')).stderr).toContain('not found');
    await expect.poll(() => running('sleep 8888')).toEqual([]);
  });
});
