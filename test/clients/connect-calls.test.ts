/**
 * Proves that the official JavaScript client reaches running pods with its generated calls, and reads their
 * usage.
 */
import { CoreV1Api, Health, Metrics, topNodes, topPods } from '@kubernetes/client-node';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { unusedPort } from '../streams/port-server.ts';
import { podOf, program, useRunningCluster } from '../streams/running.ts';
import { callNames, failureOf, Library } from './library.ts';

/** Answers with the request as plain text, so that the library does not parse it. */
const source = `
  const { PORT: port } = process.env;
  require('node:http')
    .createServer((request, response) => {
      response.setHeader('Content-Type', 'text/plain').end(request.method + ' ' + request.url);
    })
    .listen(Number(port), () => console.log('ready\\nsteady'));
`;

const cluster = useRunningCluster();
const library = new Library();
const core = (name: string, request?: object) => library.call(CoreV1Api, name, request);
const namespace = 'default';

beforeAll(async () => {
  library.config.loadFromString(cluster.kubectl.cluster.kubeconfig);
  const port = await unusedPort();
  const spec = { selector: { app: 'web' }, ports: [{ port: 80, targetPort: port }] };
  await core('createNamespacedService', { namespace, body: { metadata: { name: 'web' }, spec } });
  const container = program(source, [], {
    env: [{ name: 'PORT', value: String(port) }],
    ports: [{ containerPort: port }],
    readinessProbe: { tcpSocket: { port } as never, periodSeconds: 1 },
    resources: { requests: { cpu: '10m', memory: '8Mi' }, limits: { memory: '1Gi' } } as never,
  });
  await cluster.run(podOf('web', container));
  await vi.waitFor(
    async () => {
      const { subsets } = await core('readNamespacedEndpoints', { namespace, name: 'web' });
      expect(subsets[0].addresses).toHaveLength(1);
    },
    { timeout: 60_000 },
  );
});

describe('connect calls', () => {
  const all = callNames(CoreV1Api).filter((name) => name.startsWith('connect'));
  const proxied = /^connect(\w+?)(NamespacedPod|NamespacedService|Node)Proxy(WithPath)?$/;
  const streamed = /^connect(Get|Post)NamespacedPod(Attach|Exec|Portforward)$/;

  it('are all here', () => {
    expect(all.filter((name) => !proxied.test(name) && !streamed.test(name))).toEqual([]);
    expect(all.filter((name) => proxied.test(name))).toHaveLength(7 * 3 * 2);
  });

  it.each(all.filter((name) => /Namespaced(Pod|Service)Proxy/.test(name)))(
    '%s gets an answer of the pod',
    async (name) => {
      const [, method, , path] = proxied.exec(name)!;
      const answer = await core(name, { namespace, name: 'web', ...(path ? { path: 'some' } : {}) });
      const wanted = `${method!.toUpperCase()} ${path ? '/some' : '/'}`;
      expect(answer).toBe(method === 'Head' ? '' : wanted);
    },
  );

  it.each(all.filter((name) => /NodeProxy/.test(name)))('%s gets an answer of the node', async (name) => {
    const [, method, , path] = proxied.exec(name)!;
    const call = core(name, { name: 'here', ...(path ? { path: 'healthz' } : {}) });
    const answer = await call.catch(({ code }) => code);
    if (path && method === 'Get') expect(answer).toBe('ok');
    else expect([404, 405]).toContain(answer);
  });

  it.each(all.filter((name) => streamed.test(name)))('%s is told to upgrade', async (name) => {
    const request = { namespace, name: 'web', command: 'true', stdout: true, ports: 80 };
    expect(await failureOf(core(name, request))).toMatchObject({
      code: 400,
      status: { reason: 'BadRequest', message: expect.stringMatching(/upgrade/i) },
    });
  });
});

it('readNamespacedPodLog reads the log', async () => {
  const log = (more: object = {}) => core('readNamespacedPodLog', { namespace, name: 'web', ...more });
  await expect.poll(() => log()).toBe('ready\nsteady\n');
  expect(await log({ tailLines: 1, container: 'main' })).toBe('steady\n');
  expect(await failureOf(log({ container: 'other' }))).toMatchObject({
    code: 400,
    status: { message: 'container other is not valid for pod web' },
  });
});

describe('usage', () => {
  it('of nodes and pods is in the metrics API', async () => {
    const metrics = new Metrics(library.config);
    await expect.poll(async () => (await metrics.getPodMetrics()).items.length).toBe(1);
    const [node] = (await metrics.getNodeMetrics()).items;
    expect(node).toMatchObject({ metadata: { name: 'here' }, usage: { cpu: expect.any(String) } });
    const [pod] = (await metrics.getPodMetrics(namespace)).items;
    expect(pod).toMatchObject({
      metadata: { name: 'web', namespace },
      containers: [{ name: 'main', usage: { memory: expect.stringMatching(/^\d+\D*$/) } }],
    });
    expect((await metrics.getPodMetrics('kube-system')).items).toEqual([]);
  });

  it('is summed up by top', async () => {
    const api = library.config.makeApiClient(CoreV1Api);
    const [node] = await topNodes(api);
    expect(node!.Node.metadata!.name).toBe('here');
    expect([node!.CPU.RequestTotal, node!.Memory.RequestTotal]).toEqual([0.01, 8n * 1024n * 1024n]);
    expect(Number(node!.CPU.Capacity)).toBeGreaterThan(0);
    for (const scope of [namespace, undefined]) {
      const [pod] = await topPods(api, new Metrics(library.config), scope);
      expect(pod!.Pod.metadata!.name).toBe('web');
      expect(Number(pod!.Memory.CurrentUsage)).toBeGreaterThan(1024 * 1024);
      expect(Number(pod!.Memory.LimitTotal)).toBe(1024 ** 3);
      expect(pod!.Containers.map(({ Container }) => Container)).toEqual(['main']);
    }
  });
});

it('Health finds the server well', async () => {
  const health = new Health(library.config);
  expect(await Promise.all([health.livez({}), health.readyz({})])).toEqual([true, true]);
});
