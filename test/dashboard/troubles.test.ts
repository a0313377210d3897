/**
 * Proves that the dashboard tells what is not well as it is: states, rollouts, ends of pods, searches, history that has
 * moved on, and requests that are lost. No controller and no agent runs, so states stay as they are written here.
 */
import { beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { axeFindings, useBrowser, useBuiltCluster } from './browser.ts';
import { configMaps, deployment, deployments, pods } from './workloads.ts';

const changesMax = 150;

describeWith('chromium')('the page', () => {
  const server = useBuiltCluster({ simulatedNodes: 0, controllers: false, history: { changesMax } });
  const browser = useBrowser();
  const open = (path: string) => browser.open(`${server.cluster.url}${path}`);

  const writePod = async (name: string, phase: string, state: object, namespace = 'default') => {
    const path = pods.replace('default', namespace);
    const spec = { nodeName: 'silent', containers: [{ name: 'main', image: 'none' }] };
    await server.client.post(path, { metadata: { name }, spec });
    const main = { name: 'main', image: 'none', imageID: '', ready: false, restartCount: 3, state };
    const { status, body } = await server.client.patch(`${path}/${name}/status`, {
      status: { phase, containerStatuses: [main] },
    });
    expect(status, body.message).toBe(200);
  };

  const writeDeployment = async (
    name: string,
    replicas: number,
    readyReplicas: number,
    conditions: object[],
  ) => {
    await server.client.post(deployments, deployment(name, replicas));
    const status = { observedGeneration: 1, replicas, updatedReplicas: replicas, readyReplicas, conditions };
    await server.client.patch(`${deployments}/${name}/status`, { status });
  };

  beforeAll(async () => {
    await writePod('crashing', 'Running', { waiting: { reason: 'CrashLoopBackOff' } });
    await writePod('unpulled', 'Pending', { waiting: { reason: 'ErrImagePull' } });
    await writeDeployment('most', 40, 37, []);
    await writeDeployment('gone', 2, 0, [
      { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'has timed out' },
    ]);
    await writeDeployment('fallen', 2, 0, [
      { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
    ]);
    await writeEvicted('replaced');
  });

  /** A pod that was evicted, of a replica set that has another that is ready. */
  const writeEvicted = async (name: string) => {
    const sets = '/apis/apps/v1/namespaces/default/replicasets';
    const { metadata } = (await server.client.post(sets, { ...deployment(name, 1), kind: 'ReplicaSet' }))
      .body;
    const counts = { replicas: 1, readyReplicas: 1, observedGeneration: 1 };
    expect((await server.client.patch(`${sets}/${name}/status`, { status: counts })).status).toBe(200);
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: metadata.uid, controller: true };
    const spec = { nodeName: 'silent', containers: [{ name: 'main', image: 'none' }] };
    const main = { name: 'main', image: 'none', imageID: '', restartCount: 0 };
    for (const [pod, status] of [
      ['evicted', { phase: 'Failed', reason: 'Evicted', message: 'low on memory' }],
      ['living', { phase: 'Running', containerStatuses: [{ ...main, ready: true, state: { running: {} } }] }],
    ] as const) {
      const labels = { app: name };
      await server.client.post(pods, { metadata: { name: pod, labels, ownerReferences: [owner] }, spec });
      expect((await server.client.patch(`${pods}/${pod}/status`, { status })).status).toBe(200);
    }
  };

  it('says that a pod crashes or has no image, in red, and names what it shows in the title', async () => {
    const page = await open('/ui/object/pods/default/crashing');
    const state = page.locator('.podstate strong');
    await expect.poll(() => state.textContent()).toBe('CrashLoopBackOff');
    expect(await state.getAttribute('class')).toBe('bad');
    await page.getByText('QoS class').waitFor();
    expect(await page.getByText('Phase', { exact: true }).count()).toBe(0);
    expect(await page.title()).toBe('crashing · Pod · default · Wherry');
    await page.keyboard.press('Escape');
    const cell = page.locator('tr[data-name=unpulled]').getByText('ErrImagePull');
    await cell.waitFor();
    expect(await cell.getAttribute('class')).toBe('bad');
    await expect.poll(() => page.title()).toBe('Pods · Wherry');
  });

  it('shows how much of a rollout is ready, and one that was given up as such', async () => {
    const page = await open('/');
    const rollout = (name: string) => page.locator('.nodes li').filter({ hasText: name });
    const bar = (name: string) => rollout(name).getByRole('meter').first();
    await rollout('most').getByText('37 of 40').waitFor();
    expect(await bar('most').getAttribute('class')).toBe('meter warn');
    expect(await bar('gone').getAttribute('class')).toBe('meter bad');
    await rollout('gone').getByText('gave up').waitFor();
    await rollout('gone').getByText('has timed out').waitFor();
    await rollout('fallen').getByText('not ready').waitFor();
    expect(await page.getByText('all is well').count()).toBe(0);
    const problems = page.locator('.problems li');
    await problems.filter({ hasText: 'crash loop of container main' }).waitFor();
    await problems.filter({ hasText: 'the rollout was given up with 0 of 2 pods ready' }).waitFor();
    const [finding] = await axeFindings(page);
    expect(finding).toBeUndefined();
    await page.getByText('server is healthy').click();
    await page.getByText('ping').first().waitFor();
    await page.locator('nav').getByRole('link', { name: 'Problems' }).click();
    await page.getByRole('heading', { name: 'Problems' }).waitFor();
    await problems
      .filter({ hasText: 'image none cannot be pulled' })
      .getByText('Pod default/unpulled')
      .first()
      .waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await problems
      .filter({ hasText: 'image none' })
      .getByRole('link', { name: 'what changed before' })
      .click();
    await page.locator('.lane').filter({ hasText: 'Pod unpulled' }).waitFor();
    // The minutes before the change, and little more.
    const { items } = (await server.client.get('/wherry/problems')).body;
    const { changed } = items.find(({ message }: any) => message.includes('image none'));
    const window = new URL(page.url()).searchParams;
    const [from, to] = ['from', 'to'].map((end) => Number(window.get(end)) - Date.parse(changed));
    expect(from).toBeLessThanOrEqual(-60_000);
    expect(to).toBeGreaterThan(0);
    expect(to! - from!).toBeLessThan(10 * 60_000);
  });

  it('folds pods that were evicted and replaced, as what was wrong', async () => {
    const page = await open('/ui/problems');
    const [told, count] = [
      page.getByText('failed: Evicted: low on memory'),
      page.locator('.titleline .quiet'),
    ];
    const folded = page.getByText('1 failed before; their workloads have replaced them and are whole');
    await folded.waitFor();
    expect(await told.isVisible()).toBe(false);
    const problems = page.locator('.panel > .problems > li');
    expect(Number(await count.textContent())).toBe(await problems.count());
    await folded.click();
    await told.waitFor();
    await page.getByRole('link', { name: 'ReplicaSet default/replaced' }).click();
    await page.getByRole('heading', { name: 'What was wrong' }).waitFor();
    const names = page.locator('.podtable tbody td:first-child');
    await expect.poll(() => names.allTextContents()).toEqual(['living', 'evicted']);
  });

  it('says what is wrong with a selector, and that a namespace does not exist', async () => {
    const page = await open('/ui/list/pods?labels=app%3D%3D%3Dweb');
    await page.getByText('“app===web” is no label selector.').waitFor();
    await page.goto(`${server.cluster.url}/ui/list/pods?labels=app%3Dweb`);
    await page.getByText('Nothing fits the search.').waitFor();
    await page.goto(`${server.cluster.url}/ui/list/pods?ns=nowhere`);
    await page.getByText('There is no namespace nowhere.').waitFor();
    await page.goto(`${server.cluster.url}/ui/list/secrets?ns=default`);
    await page.getByText('There are no Secrets in the namespace default.').waitFor();
  });

  it('goes on without a word when a few requests are lost, and says so when all are', async () => {
    const page = await browser.open('about:blank', {}, /ERR_FAILED/);
    let lost = 0;
    // The list of all pods; another asks for those that have failed.
    await page.route(/\/api\/v1\/namespaces\/default\/pods\?(?!.*fieldSelector)/, (route) =>
      lost++ < 3 ? route.abort() : route.continue(),
    );
    const bar = page.getByText('The server does not answer');
    await page.addInitScript(() => {
      const seen = () =>
        (globalThis as any).document.querySelector('.lost') && ((globalThis as any).sawLost = true);
      new (globalThis as any).MutationObserver(seen).observe((globalThis as any).document, {
        childList: true,
        subtree: true,
      });
    });
    await page.goto(`${server.cluster.url}/ui/list/pods?ns=default`);
    await page.locator('tr[data-name=crashing]').waitFor();
    expect(lost).toBe(4);
    expect(await page.evaluate(() => (globalThis as any).sawLost)).toBeUndefined();
    let isCut = true;
    await page.route('**/api/v1/namespaces/default/configmaps?*', (route) =>
      isCut ? route.abort() : route.continue(),
    );
    await page.keyboard.type(':cm');
    await page.keyboard.press('Enter');
    await bar.waitFor();
    isCut = false;
    await bar.waitFor({ state: 'detached' });
  });

  it('deletes although the answer is lost', async () => {
    const page = await browser.open('about:blank', {}, /ERR_FAILED|404/);
    await server.client.post(configMaps, { metadata: { name: 'doomed' } });
    await page.goto(`${server.cluster.url}/ui/list/configmaps?ns=default`);
    const path = '**/api/v1/namespaces/default/configmaps/doomed';
    let deletes = 0;
    await page.route(path, async (route) => {
      if (route.request().method() !== 'DELETE' || deletes++ > 0) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await page.getByLabel('Select doomed').check();
    await page.getByRole('button', { name: 'Delete 1' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(deletes).toBe(2);
    expect((await server.client.get(`${configMaps}/doomed`)).status).toBe(404);
  });

  it('reads history that has moved on without asking for what is gone', async () => {
    const namespace = 'timed';
    const path = `/api/v1/namespaces/${namespace}`;
    await server.client.post('/api/v1/namespaces', { metadata: { name: namespace } });
    await server.client.post(configMaps, { metadata: { name: 'turning' } });
    for (let i = 0; i < 2 * changesMax; i++)
      await server.client.patch(`${configMaps}/turning`, { data: { turn: String(i) } });
    await server.client.post(`${path}/pods`, {
      metadata: { name: 'brief' },
      spec: { nodeName: 'silent', containers: [{ name: 'main', image: 'none' }] },
    });
    await server.client.delete(`${path}/pods/brief?gracePeriodSeconds=0`);
    const finishedAt = new Date(Date.now() - 5_000).toISOString().replace(/\.\d+/, '');
    await writePod('over', 'Failed', { terminated: { exitCode: 3, reason: 'Error', finishedAt } }, namespace);
    const kept = async () => {
      const { oldest, newest } = (await server.client.get('/wherry/history')).body;
      return Number(newest) - Number(oldest);
    };
    await expect.poll(kept, { timeout: 60_000 }).toBeLessThanOrEqual(changesMax);
    const page = await browser.open('about:blank');
    const gone: string[] = [];
    page.on('response', (answer) => void (answer.status() === 410 && gone.push(answer.url())));
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => {
        if (String(payload).includes('"code":410')) gone.push(String(payload));
      }),
    );
    await page.goto(`${server.cluster.url}/ui/timeline?ns=${namespace}`);
    const lane = (name: string) => page.locator('.lane').filter({ hasText: `Pod ${name}` });
    await lane('brief').locator('[aria-label=deleted]').waitFor();
    const failed = await lane('over').locator('[aria-label=failed]').getAttribute('title');
    expect(failed).toContain(await page.evaluate((time) => new Date(time).toLocaleTimeString(), finishedAt));
    await page.getByText('Still reading').waitFor({ state: 'detached' });
    await page.keyboard.press('t');
    await page.getByRole('button', { name: 'Play' }).click();
    await page.locator('.lastchange a').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    const shown = page.url();
    await page.keyboard.press(']');
    await expect.poll(() => page.url()).not.toBe(shown);
    expect(gone).toEqual([]);
  });
});
