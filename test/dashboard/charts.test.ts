/**
 * Proves that charts are full when they are opened and go back with the time machine: the server keeps samples of usage
 * and requests.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { axeFindings, useBrowser, useBuiltCluster } from './browser.ts';
import { pods } from './workloads.ts';

const waiting = { timeout: 60_000 };

describeWith('chromium')('charts in the page', () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-charts-'));
  // The first hook is the last to run, so the cluster is closed by then.
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));
  const server = useBuiltCluster({
    simulatedNodes: 0,
    node: { podNetwork: 'host' },
    dataDir,
    store: 'memory',
    secure: true,
  });
  const browser = useBrowser();
  /** A version at which there were samples already, and the time of the newest of them. */
  let past: { version: string; timeMs: number };

  const samples = async (query: string): Promise<any> =>
    (await server.client.get(`/wherry/samples?${query}`)).body;
  const ofPod = 'of=pods&namespace=default&name=busy';

  beforeAll(async () => {
    // A tenth of a processor: the other tests need the rest.
    const turn = 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.2';
    const command = ['sh', '-c', `while :; do ${turn}; done & sleep 100000`];
    const container = { name: 'main', image: 'host', command, resources: { limits: { memory: '64Mi' } } };
    await server.client.post(pods, { metadata: { name: 'busy' }, spec: { containers: [container] } });
    // Asking takes a sample when the newest is five seconds old.
    await vi.waitFor(async () => {
      const { items } = await samples(ofPod);
      const values = items.find(({ figure }: any) => figure === 'nanoCores')?.values ?? [];
      expect(values.filter((value: number | null) => value).length).toBeGreaterThan(1);
    }, waiting);
    const made = await server.client.post(pods, {
      metadata: { name: 'mark' },
      spec: { containers: [container], nodeName: 'elsewhere' },
    });
    past = { version: made.body.metadata.resourceVersion, timeMs: Date.now() };
  });

  /** Whether the first chart of the page shows a line. */
  const isDrawn = (page: Page): Promise<boolean> =>
    page
      .locator('.plot canvas')
      .first()
      .evaluate((canvas: any) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const colours = new Set<string>();
        for (let i = 0; i < data.length; i += 4)
          if (data[i + 3] > 200) colours.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
        return colours.size > 1;
      });

  it('tells what a pod, a node, all nodes and requests took, with the times of the samples', async () => {
    const { times, items, keptSeconds } = await samples(ofPod);
    expect(keptSeconds).toBe(600);
    expect(items.map(({ container, figure }: any) => `${container} ${figure}`)).toEqual([
      'main nanoCores',
      'main bytes',
    ]);
    for (const { values } of items) expect(values).toHaveLength(times.length);
    expect(items[0].values.at(-1)).toBeGreaterThan(1e8);
    const [node] = (await server.client.get('/api/v1/nodes')).body.items;
    const one = await samples(`of=nodes&name=${node.metadata.name}`);
    const all = await samples('of=nodes');
    expect(one.items[0].values.at(0)).toBe(all.items[0].values.at(0));
    const requests = await samples('of=requests');
    const figures = requests.items.map(({ figure }: any) => figure);
    expect(figures).toEqual(['milliPerSecond', 'meanMicros', 'longestMicros']);
    const [rate, mean, longest] = requests.items.map(({ values }: any) => values.at(-1));
    expect(rate).toBeGreaterThan(0);
    expect(longest).toBeGreaterThanOrEqual(mean * 0.999);
    for (const query of ['', 'of=pods&name=x', 'of=nodes&from=yesterday', 'of=nodes&points=many'])
      expect((await server.client.get(`/wherry/samples?${query}`)).status, query).toBe(400);
  });

  it('has no sample of a time before the first, and no more points than are asked for', async () => {
    const { times } = await samples(`${ofPod}&until=2000-01-01T00:00:00Z`);
    expect(times).toEqual([]);
    const until = new Date(past.timeMs).toISOString();
    const then = await samples(`${ofPod}&until=${until}`);
    expect(then.times.length).toBeGreaterThan(1);
    expect(then.times.at(-1) * 1_000).toBeLessThanOrEqual(past.timeMs);
    const few = await samples(`${ofPod}&until=${until}&points=1`);
    expect(few.times).toEqual([then.times.at(-1)]);
  });

  it('shows the charts of a pod at once, and those of the past with the time machine', async () => {
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/busy?tab=usage`);
    const answers: any[] = [];
    page.on('response', (answer) => {
      // A page that is left takes the bodies of its answers along.
      if (answer.url().includes('/wherry/samples'))
        answer.json().then(
          (body) => answers.push(body),
          () => undefined,
        );
    });
    await page.getByText('at most 64Mi').waitFor();
    await expect.poll(() => isDrawn(page), waiting).toBe(true);
    expect(await axeFindings(page)).toEqual([]);
    answers.length = 0;
    await page.goto(`${server.cluster.url}/ui/object/pods/default/busy?tab=usage&at=${past.version}`);
    await page.getByText('at most 64Mi').waitFor();
    await expect.poll(() => isDrawn(page), waiting).toBe(true);
    await expect.poll(() => answers.length, waiting).toBeGreaterThan(0);
    const { times } = answers.at(-1);
    expect(times.length).toBeGreaterThan(1);
    expect(times.at(-1) * 1_000).toBeLessThanOrEqual(past.timeMs);
  });

  it('shows the charts of the overview and of a node, now and in the past', async () => {
    const page = await browser.open(`${server.cluster.url}/ui/`);
    const panel = (name: string) =>
      page.locator('section.panel').filter({ has: page.getByRole('heading', { name }) });
    for (const name of ['Requests', 'Nodes']) await panel(name).locator('canvas').first().waitFor();
    await page.goto(`${server.cluster.url}/ui/?at=${past.version}`);
    for (const name of ['Requests', 'Nodes']) await panel(name).locator('canvas').first().waitFor();
    const [node] = (await server.client.get('/api/v1/nodes')).body.items;
    await page.goto(`${server.cluster.url}/ui/object/nodes/-/${node.metadata.name}?tab=usage`);
    await expect.poll(() => isDrawn(page), waiting).toBe(true);
  });

  it('tells users of the secure door as much as they may know of the newest samples', async () => {
    const { cluster, client } = server;
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await client.post(accounts, { metadata: { name: 'nobody' } });
    const token = (await client.post(`${accounts}/nobody/token`, { spec: {} })).body.status.token;
    const page = await browser.open(`${cluster.url}/ui/`);
    const status = (query: string) =>
      page.request
        .get(`${cluster.secureUrl}/wherry/samples?${query}`, {
          headers: { Authorization: `Bearer ${token}` },
          ignoreHTTPSErrors: true,
        })
        .then((answer) => answer.status());
    for (const query of [ofPod, 'of=nodes', 'of=requests']) expect(await status(query), query).toBe(403);
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
    const rules = [{ apiGroups: ['metrics.k8s.io'], resources: ['pods'], verbs: ['get'] }];
    await client.post(`${rbac}/roles`, { metadata: { name: 'figures' }, rules });
    await client.post(`${rbac}/rolebindings`, {
      metadata: { name: 'figures' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'figures' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'nobody' }],
    });
    await expect.poll(() => status(ofPod), waiting).toBe(200);
    expect(await status('of=nodes')).toBe(403);
  });
});
