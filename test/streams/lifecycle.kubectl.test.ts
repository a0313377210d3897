/**
 * Proves that pods end and restart with the process that runs them: stopped, killed, restarted, and on
 * another node.
 */
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { it, type TestContext } from 'vitest';
import type { Pod } from '../../src/api/generated/types.ts';
import { kubeconfigFor } from '../../src/cluster/access/kubeconfig.ts';
import { Kubectl } from '../kubectl/kubectl.ts';
import { Child, useChildren } from '../support/child.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { megabyte, Noise, sumUp } from './bytes.ts';
import { portOf, portServer, unusedPort } from './port-server.ts';
import { agentOf, ClusterAccess, hasEnded, isReady, podOf, processesOf, shell } from './running.ts';
import { webServer } from './web-server.ts';

const children = useChildren();
const never = { restartPolicy: 'Never' };

/** Access to a cluster that a child process runs, for one of the tests, which run at the same time. */
async function accessTo(child: Child, { onTestFinished }: TestContext): Promise<ClusterAccess> {
  const access = new ClusterAccess();
  const url = await child.ready();
  access.kubectl = new Kubectl({ url, kubeconfig: kubeconfigFor(url), close: () => child.kill() });
  onTestFinished(async () => {
    await access.endCommands();
    access.kubectl.close();
  });
  return access;
}

const up = (folder: string) => new Child(['up', '--port', '0', '--data-dir', folder, '--node-name', 'here']);
const first = (pod: Pod) => pod.status?.containerStatuses?.[0];
const restarted = (times: number) => (pod: Pod) => isReady(pod) && first(pod)?.restartCount === times;

/** A service reaches its pod through the API server, in whatever network the machine allows. */
async function answersByService({ expect }: TestContext, { kubectl, client }: ClusterAccess): Promise<void> {
  // Pods have addresses of their own where the machine allows those.
  const port = await unusedPort();
  const template = { ...podOf('web', webServer(port)), metadata: { labels: { app: 'web' } } };
  const rc = { apiVersion: 'v1', kind: 'ReplicationController', metadata: { name: 'web' } };
  await kubectl.run('create', '-f', kubectl.file('rc.json', { ...rc, spec: { replicas: 1, template } }));
  await kubectl.run('expose', 'rc', 'web', '--port=80', '--target-port=web');
  const ask = async () => (await client.get('/api/v1/namespaces/default/services/web/proxy/a?b=c')).body;
  await expect.poll(ask, { timeout: 180_000 }).toMatchObject({ url: '/a?b=c' });
  const { pod } = await ask();
  const direct = await client.get(`/api/v1/namespaces/default/pods/${pod}:${port}/proxy/d`);
  expect(direct.body).toMatchObject({ pod, url: '/d' });
}

describeWith('kubectl')('wherry up', () => {
  it.concurrent('runs a first pod and a service, and ends with Ctrl-C, pods and all', async (context) => {
    const { expect } = context;
    const folder = await children.folder();
    const child = up(folder);
    const cluster = await accessTo(child, context);
    const { kubectl } = cluster;
    const script = ['sh', '-c', 'echo hello; exec sleep 1000'];
    expect(await kubectl.run('run', 'hello', '--image=host', '--command', '--', ...script)).toBe(
      'pod/hello created\n',
    );
    await kubectl.run('wait', '--for=condition=Ready', 'pod/hello', '--timeout=180s');
    expect(await kubectl.run('logs', 'hello')).toBe('hello\n');
    const [, row] = await kubectl.table('get', 'pods');
    expect(row!.slice(0, 4)).toEqual(['hello', '1/1', 'Running', '0']);
    const follower = cluster.command('logs', '-f', 'hello');
    await follower.until(/hello/);
    await answersByService(context, cluster);
    const busy = cluster.command('exec', 'hello', '--', 'sh', '-c', 'echo begin; exec sleep 1000');
    await busy.until(/begin/);
    const agent = agentOf(folder);
    expect(processesOf(agent).filter((it) => it.includes('sleep 1000'))).toHaveLength(2);
    child.signal('SIGINT');
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(processesOf(agent)).toEqual([]);
    // The end of a followed log is a success; a killed command is not.
    expect(await follower.exited).toEqual({ code: 0, signal: null });
    expect(await busy.exited).toEqual({ code: 137, signal: null });
    expect(child.stderr).toBe('');
  });

  it.concurrent('is killed, and goes on where it was when it is started again', async (context) => {
    const { expect } = context;
    const folder = await children.folder();
    let child = up(folder);
    let cluster = await accessTo(child, context);
    await Promise.all([
      cluster.run(podOf('always', shell('echo "pid $$$$"; exec sleep 1000'))),
      cluster.run(podOf('once', shell('exec sleep 1000'), never)),
      cluster.run(podOf('done', shell('echo done'), never), hasEnded),
    ]);
    const before = await cluster.kubectl.run('logs', 'always');
    const agent = agentOf(folder);
    await child.kill();
    // The agent was killed, and its processes end nevertheless.
    await expect.poll(() => processesOf(agent)).toEqual([]);

    child = up(folder);
    cluster = await accessTo(child, context);
    const [always, once, done] = await Promise.all([
      cluster.until('always', restarted(1)),
      cluster.until('once', hasEnded),
      cluster.until('done', hasEnded),
    ]);
    expect(first(always)!.lastState!.terminated).toMatchObject({ exitCode: 137 });
    expect([once.status!.phase, done.status!.phase, first(done)!.restartCount]).toEqual([
      'Failed',
      'Succeeded',
      0,
    ]);
    const { kubectl } = cluster;
    expect(await kubectl.run('logs', 'always')).toMatch(/^pid \d+\n$/);
    expect(await kubectl.run('logs', 'always')).not.toBe(before);
    expect(await kubectl.run('logs', '--previous', 'always')).toBe(before);
    expect(await kubectl.run('logs', 'done')).toBe('done\n');
    expect((await kubectl.try('exec', 'always', '--', 'sh', '-c', 'exit 3')).code).toBe(3);
    expect(processesOf(agent).filter((it) => it.includes('sleep 1000'))).toHaveLength(1);

    child.signal('SIGTERM');
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(processesOf(agent)).toEqual([]);
    // With `npm test` one start that finds pods is enough: the next does the same.
    if (!isRelease) return;
    // A pod is deleted as soon as an agent has started.
    child = up(folder);
    cluster = await accessTo(child, context);
    await cluster.until('always', restarted(2));
    await cluster.kubectl.run('delete', 'pod', '--all', '--timeout=180s');
    await expect.poll(() => processesOf(agent).filter((it) => it.includes('sleep 1000'))).toEqual([]);
    child.signal('SIGINT');
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });
});

describeWith('kubectl')('wherry node', () => {
  it.concurrent('runs pods of a server elsewhere, reached over TLS, and comes back after it was killed', async (context) => {
    const { expect } = context;
    const [home, away] = [await children.folder(), await children.folder()];
    const server = new Child(['up', '--port', '0', '--data-dir', home, '--simulated-nodes', '1']);
    const cluster = await accessTo(server, context);
    const { kubectl } = cluster;
    const args = ['--server', kubectl.cluster.url, '--node-name', 'away', '--kubelet-port', '0'];
    // Volumes and containers are found although the folder is relative to where the node is started.
    const begin = () => new Child(['node', '--data-dir', 'relative', ...args], away);
    let node = begin();
    const there = { nodeName: 'away' };
    const talking = shell('echo hello > scratch/word; cat scratch/word; cat', {
      stdin: true,
      volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
    });
    await Promise.all([
      cluster.run(podOf('talk', talking, { ...there, volumes: [{ name: 'scratch', emptyDir: {} }] })),
      cluster.run(podOf('server', portServer(), there)),
    ]);
    const agent = agentOf(join(away, 'relative'));
    expect(processesOf(agent).join('\n')).toContain('cat scratch/word; cat');

    // Every kind of connection, through the API server and over TLS to the node.
    expect(await kubectl.run('logs', 'talk')).toBe('hello\n');
    expect(await kubectl.try('exec', 'talk', '--', 'sh', '-c', 'echo out; exit 3')).toMatchObject({
      code: 3,
      stdout: 'out\n',
    });
    const cat = cluster.command('exec', '-i', 'talk', '--', 'cat');
    const noise = new Noise(10 * megabyte);
    const [sum] = await Promise.all([sumUp(cat.stdout), pipeline(noise, cat.stdin)]);
    expect(sum).toEqual(noise.sum);
    const attached = cluster.command('attach', '-i', 'talk');
    attached.stdin.write('word\n');
    await attached.until(/word\n/);
    const port = await portOf(cluster, 'server');
    const forwarding = cluster.command('port-forward', 'pod/server', `:${port}`);
    const [, local] = await forwarding.until(/127\.0\.0\.1:(\d+)/);
    const socket = connect(Number(local), '127.0.0.1').on('error', () => undefined);
    socket.end('echo\nthere and back');
    expect(await text(socket)).toBe('there and back');
    expect((await cluster.client.get('/api/v1/nodes/away/proxy/healthz')).text).toBe('ok');

    // The API server gives clients some seconds to read their last data; do not wait for that.
    await Promise.all([attached.end(), forwarding.end()]);
    await node.kill();
    await expect.poll(() => processesOf(agent)).toEqual([]);
    const unreachable = await kubectl.try('exec', 'talk', '--', 'true');
    expect(unreachable).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/error dialing backend|connection refused/),
    });

    node = begin();
    await Promise.all(['talk', 'server'].map((name) => cluster.until(name, restarted(1))));
    expect((await kubectl.try('exec', 'talk', '--', 'sh', '-c', 'exit 4')).code).toBe(4);
    expect(await kubectl.run('logs', '--previous', 'talk')).toBe('hello\nword\n');

    // The server restarts: the node and its pods continue.
    node.signal('SIGINT');
    expect(await node.exited).toEqual({ code: 0, signal: null });
    expect(node.stdout).toMatch(/^Node away at /);
    expect(processesOf(agent)).toEqual([]);
    server.signal('SIGINT');
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });
});
