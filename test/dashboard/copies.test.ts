/**
 * Proves that the dashboard says which dump is open and that it is read-only, and that a long history is gone through by date
 * and time.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OpenedDump } from '../../src/cluster/index.ts';
import { describeWith } from '../support/tools.ts';
import { ApiClient, cellsOf, follow, useBrowser, useBuiltCluster } from './browser.ts';
import { configMaps } from './workloads.ts';

const load = createRequire(import.meta.url);
const image = 'registry.example/shop/web:2';
/** A dump is not checked as writes are, so it may hold this wherever there is text. */
const evil = '<img src=x onerror="window.hacked = true"><script>window.hacked = true{{x}}';

/** Objects of somebody who wants to run something in the browser of those who open the dump. */
function hostileObjects(): object[] {
  const metadata = {
    ...{ name: evil, namespace: 'shop', uid: 'u-1' },
    ...{ labels: { [evil]: evil }, annotations: { [evil]: evil }, finalizers: [evil] },
    ownerReferences: [
      { apiVersion: 'javascript:hacked()', kind: evil, name: evil, uid: 'u-9', controller: true },
    ],
  };
  const spec = {
    containers: [{ name: evil, image: evil, ports: [{ name: evil, containerPort: 80 }] }],
    nodeName: evil,
  };
  const waiting = { waiting: { reason: evil, message: evil } };
  const status = {
    ...{ phase: evil, reason: evil, message: evil },
    conditions: [{ type: evil, status: 'False', reason: evil, message: evil }],
    containerStatuses: [
      { name: evil, image: evil, imageID: evil, ready: false, restartCount: 1, state: waiting },
    ],
  };
  const names = { plural: 'ships', singular: 'ship', kind: 'Ship', listKind: 'ShipList' };
  const version = {
    ...{ name: 'v1', served: true, storage: true },
    schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    additionalPrinterColumns: [{ name: evil, type: 'string', description: evil, jsonPath: '.spec.x' }],
  };
  return [
    { apiVersion: 'v1', kind: 'Pod', metadata, spec, status },
    {
      ...{ apiVersion: 'v1', kind: 'Event', type: 'Warning', reason: evil, message: evil },
      metadata: { name: 'e', namespace: 'shop', uid: 'u-2' },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: evil, uid: 'u-1' },
    },
    {
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      metadata: { name: 'ships.example.com', uid: 'u-3' },
      spec: { group: 'example.com', scope: 'Namespaced', names, versions: [version] },
      status: {
        acceptedNames: names,
        conditions: ['NamesAccepted', 'Established'].map((type) => ({ type, status: 'True' })),
      },
    },
    {
      ...{ apiVersion: 'example.com/v1', kind: 'Ship', metadata: { ...metadata, uid: 'u-4' } },
      spec: { x: evil, constructor: null, type: 'img', props: { src: 'x' } },
    },
  ];
}

describeWith('chromium')('copies and long histories', () => {
  let nowMs = Date.now() - 3 * 3_600_000;
  const server = useBuiltCluster({
    simulatedNodes: 0,
    controllers: false,
    history: { ageMaxMs: 86_400_000, changesMax: 50_000 },
    chance: { nowMs: () => nowMs } as never,
  });
  const browser = useBrowser();
  let folder: string;
  let dump: OpenedDump;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'wherry-copies-'));
    const file = path.join(folder, 'incident.json');
    const metadata = { name: 'web', namespace: 'shop', uid: '1-2-3' };
    const spec = { containers: [{ name: 'web', image }] };
    const items = [{ apiVersion: 'v1', kind: 'Pod', metadata, spec }, ...hostileObjects()];
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    dump = await load('../../dist/index.cjs').openDump(file);
  });
  afterAll(async () => {
    await dump?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('says what is open', async () => {
    const page = await browser.open(`${dump.url}/ui/list/pods?ns=shop`);
    const strip = page.locator('.copyof');
    await strip.waitFor();
    expect(await strip.textContent()).toMatch(/This is a copy of the dump .*incident\.json: read-only/);
    await expect.poll(() => cellsOf(page, 1)).toContain('web');
  });

  it('takes what a hostile dump holds for text', async () => {
    // A breach of the policy of the page, which would hold what slips through, fails the test.
    const refused = /Failed to load resource/;
    const page = await browser.open(`${dump.url}/ui/list/pods?ns=shop`, {}, refused);
    for (const address of [
      '/ui/list/pods?ns=shop',
      '/ui/list/ships.example.com?ns=shop',
      '/ui/list/events?ns=shop',
      `/ui/object/pods/shop/${encodeURIComponent(evil)}`,
      `/ui/object/ships.example.com/shop/${encodeURIComponent(evil)}?tab=yaml`,
      '/ui/',
    ]) {
      await follow(page, address);
      await page.locator('main').getByText('onerror').first().waitFor();
      expect(await page.locator('img, main script, [href^="javascript"]').count()).toBe(0);
    }
    expect(await page.evaluate(() => (globalThis as any).hacked)).toBeUndefined();
  });

  it('offers nothing that would change what is read-only', async () => {
    const page = await browser.open(`${dump.url}/ui/object/pods/shop/web`);
    await page.locator('.copyof').waitFor();
    await page.getByRole('tab', { name: 'YAML' }).waitFor();
    const offered = ['Delete', 'Evict', 'Edit'].map((name) =>
      page.getByRole('button', { name, exact: true }),
    );
    await expect.poll(() => Promise.all(offered.map((button) => button.count()))).toEqual([0, 0, 0]);
    // The same object can be changed where it is no copy.
    await page.route('**/wherry/history', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), copy: undefined } });
    });
    await page.reload();
    await offered[0]!.waitFor();
  });

  it('finds which objects mention an image, now and in the past', async () => {
    const found = async (url: string, version = ''): Promise<string[]> => {
      const client = new ApiClient(() => url);
      const query = `q=${encodeURIComponent(image)}${version && `&resourceVersion=${version}`}`;
      const { body } = await client.get(`/wherry/search?${query}`);
      return body.items.map((item: { kind: string; name: string }) => `${item.kind}/${item.name}`);
    };
    expect(await found(dump.url)).toEqual(['Pod/web']);
    const { client, cluster } = server;
    const pods = '/api/v1/namespaces/default/pods';
    await client.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
    const { body } = await client.post(pods, {
      metadata: { name: 'old' },
      spec: { containers: [{ name: 'web', image }] },
    });
    await client.delete(`${pods}/old?gracePeriodSeconds=0`);
    expect(await found(cluster.url)).toEqual([]);
    expect(await found(cluster.url, body.metadata.resourceVersion)).toEqual(['Pod/old']);
  });

  it('shows gaps of a recording in the timeline', async () => {
    const page = await browser.open('about:blank');
    const gap = {
      ...{ from: '2026-01-02T10:00:00Z', to: '2026-01-02T10:05:00Z' },
      ...{ why: 'the connection was lost', resources: ['pods'] },
    };
    const range = { oldest: '1', newest: '9', gaps: [gap] };
    await page.route('**/wherry/history', (route) => route.fulfill({ json: range }));
    await page.goto(`${server.cluster.url}/ui/timeline?ns=default`);
    const line = page.locator('.gapinhistory');
    await line.waitFor();
    expect(await line.textContent()).toContain('nothing was seen of pods (the connection was lost)');
  });

  it('goes to a date and a time', async () => {
    const { client, cluster } = server;
    await client.post(configMaps, { metadata: { name: 'early' } });
    nowMs += 3_600_000;
    const between = nowMs;
    nowMs += 3_600_000;
    await client.post(configMaps, { metadata: { name: 'late' } });
    const page = await browser.open(`${cluster.url}/ui/list/configmaps?ns=default`);
    await expect.poll(() => cellsOf(page, 2)).toContain('late');
    await page.getByRole('button', { name: 'History' }).click();
    const field = page.getByLabel('Date and time');
    const local = await page.evaluate((ms) => {
      const offsetMs = new Date(ms).getTimezoneOffset() * 60_000;
      return new Date(ms - offsetMs).toISOString().slice(0, 19);
    }, between);
    await field.fill(local);
    await field.blur();
    await expect.poll(() => cellsOf(page, 1)).toContain('early');
    expect(await cellsOf(page, 1)).not.toContain('late');
    expect(page.url()).toContain('at=');
  });
});
