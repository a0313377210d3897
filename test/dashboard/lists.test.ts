/**
 * Proves what tables of kinds can do: columns by choice, problems first and by state, views by address, actions on many
 * objects at once, and keys. No controller and no agent runs, so states stay as they are written here.
 */
import { beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { cellsOf, useBrowser, useBuiltCluster } from './browser.ts';
import { deployment, deployments, pods } from './workloads.ts';

const configMaps = '/api/v1/namespaces/many/configmaps';

describeWith('chromium')('a table', () => {
  const server = useBuiltCluster({ simulatedNodes: 0, controllers: false });
  const browser = useBrowser();
  const open = (path: string, options = {}) => browser.open(`${server.cluster.url}${path}`, options);

  const writePod = async (name: string, status: object) => {
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'u', controller: true };
    await server.client.post(pods, {
      metadata: { name, labels: { app: name }, ownerReferences: [owner] },
      spec: { nodeName: 'silent', containers: [{ name: 'main', image: 'none' }] },
    });
    expect((await server.client.patch(`${pods}/${name}/status`, { status })).status).toBe(200);
  };
  const main = (ready: boolean, state: object) => ({
    containerStatuses: [{ name: 'main', image: 'none', imageID: '', ready, restartCount: 0, state }],
  });

  beforeAll(async () => {
    const { client } = server;
    await writePod('fine', { phase: 'Running', ...main(true, { running: {} }) });
    await writePod('slow', { phase: 'Running', ...main(false, { running: {} }) });
    await writePod('worse', {
      phase: 'Running',
      ...main(false, { waiting: { reason: 'CrashLoopBackOff' } }),
    });
    // Its container ended well, which is what `kubectl get` says of the pod.
    await writePod('evicted', {
      phase: 'Failed',
      reason: 'Evicted',
      ...main(false, { terminated: { exitCode: 0, reason: 'Completed' } }),
    });
    await client.post('/api/v1/namespaces', { metadata: { name: 'many' } });
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        client.post(configMaps, { metadata: { name: `m${String(i).padStart(2, '0')}` } }),
      ),
    );
    for (const name of ['one', 'two', 'three']) await client.post(deployments, deployment(name, 1));
  });

  it('has problems first, counts them by state, and shows those of one state', async () => {
    const page = await open('/ui/list/pods?ns=default');
    await expect.poll(() => cellsOf(page, 2)).toEqual(['evicted', 'worse', 'slow', 'fine']);
    const chips = page.getByRole('group', { name: 'State' }).getByRole('button');
    expect(await chips.allTextContents()).toEqual(['2 failing', '1 waiting', '1 well']);
    await chips.first().click();
    await expect.poll(() => cellsOf(page, 2)).toEqual(['evicted', 'worse']);
    expect(page.url()).toContain('state=failing');
    await chips.first().click();
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    await expect.poll(() => cellsOf(page, 2)).toEqual(['evicted', 'fine', 'slow', 'worse']);
  });

  it('says while pages of a list still come that there are more', async () => {
    const page = await browser.open('about:blank');
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const isList = ({ pathname, searchParams }: URL) =>
      pathname === pods && !searchParams.has('fieldSelector');
    await page.route(isList, async (route) => {
      const url = new URL(route.request().url());
      const isSecond = url.searchParams.has('continue');
      url.searchParams.delete('continue');
      const response = await route.fetch({ url: String(url) });
      const json = await response.json();
      if (!isSecond) json.metadata.continue = 'more';
      else {
        json.rows = [];
        await released;
      }
      await route.fulfill({ response, json });
    });
    await page.goto(`${server.cluster.url}/ui/list/pods?ns=default`);
    await page.locator('.count').getByText('4+', { exact: true }).waitFor();
    release();
    await page.locator('.count').getByText('4', { exact: true }).waitFor();
  });

  it('says of a pod that failed as a whole that it failed, although its containers ended well', async () => {
    const page = await open('/ui/list/pods?ns=default');
    const cell = page.locator('tr[data-name=evicted]').getByText('Failed');
    await cell.waitFor();
    expect(await cell.getAttribute('class')).toBe('bad');
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.locator('.phases').getByRole('link', { name: 'Failed' }).click();
    await expect.poll(() => cellsOf(page, 2)).toEqual(['evicted', 'worse']);
    await page.getByRole('link', { name: 'evicted' }).click();
    await page.locator('.podstate strong.bad').getByText('Evicted').waitFor();
  });

  it('shows the columns that are chosen, in their order, and keeps them as a view with a name', async () => {
    const page = await open('/ui/list/pods?ns=default', { viewport: { width: 1720, height: 900 } });
    const heads = () => page.locator('.rows thead th button').allTextContents();
    await expect.poll(heads).toContain('Owner');
    await expect.poll(heads).toContain('Node');
    await page.getByText('ReplicaSet web-1').first().waitFor();
    await page.getByRole('button', { name: 'View', exact: true }).click();
    const dialog = page.getByRole('dialog');
    for (const name of ['IP', 'Owner', 'Restarts', 'CPU', 'Memory'])
      await dialog.getByLabel(name, { exact: true }).uncheck();
    await dialog.getByLabel('Labels', { exact: true }).check();
    await dialog.getByRole('button', { name: 'Status before' }).click();
    await expect.poll(heads).toEqual(['Name', 'Status', 'Ready', 'Node', 'Age', 'Labels']);
    await dialog.getByLabel('Name of the view').fill('mine');
    await dialog.getByRole('button', { name: 'Save this view' }).click();
    await dialog.getByRole('link', { name: 'mine' }).waitFor();
    expect(page.url()).toContain('cols=Status%2CReady%2CNode%2CAge%2CLabels');
    await page.goto(`${server.cluster.url}/ui/list/pods`);
    await page.getByRole('button', { name: 'View', exact: true }).click();
    await page.getByRole('link', { name: 'mine' }).click();
    await expect.poll(heads).toEqual(['Name', 'Status', 'Ready', 'Node', 'Age', 'Labels']);
    await page.getByText('app=worse').waitFor();
  });

  it('restarts, scales and labels what is selected', async () => {
    const page = await open('/ui/list/deployments.apps?ns=default');
    const dialog = page.getByRole('dialog');
    const select = async (names: readonly string[]) => {
      for (const name of names) await page.getByLabel(`Select ${name}`).check();
    };
    const each = async (pick: (object: any) => unknown) => {
      const { items } = (await server.client.get(deployments)).body;
      return Object.fromEntries(items.map((item: any) => [item.metadata.name, pick(item)]));
    };
    await select(['one', 'two']);
    await page.getByRole('button', { name: 'Scale 2' }).click();
    await dialog.getByLabel('Replicas of each').fill('4');
    await dialog
      .getByText('kubectl scale deployments.apps one two --replicas=4 --namespace default')
      .waitFor();
    await dialog.getByRole('button', { name: 'Scale' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await each(({ spec }) => spec.replicas)).toEqual({ one: 4, two: 4, three: 1 });

    await select(['one', 'two', 'three']);
    await page.getByRole('button', { name: 'Label 3' }).click();
    await dialog.getByLabel('Labels').fill('tier');
    await dialog.getByRole('button', { name: 'Label' }).click();
    await dialog.getByText('neither key=value nor key-').waitFor();
    await dialog.getByLabel('Labels').fill('tier=web app-');
    await dialog
      .getByText('kubectl label deployments.apps --all tier=web app- --overwrite --namespace default')
      .waitFor();
    await dialog.getByRole('button', { name: 'Label' }).click();
    await dialog.waitFor({ state: 'detached' });
    const labels = { tier: 'web' };
    expect(await each(({ metadata }) => metadata.labels)).toEqual({
      one: labels,
      two: labels,
      three: labels,
    });

    await select(['two', 'three']);
    await page.getByRole('button', { name: 'Restart 2' }).click();
    await dialog
      .getByText('kubectl rollout restart deployments.apps three two --namespace default')
      .waitFor();
    await dialog.getByRole('button', { name: 'Restart' }).click();
    await dialog.waitFor({ state: 'detached' });
    const isRestarted = ({ spec }: any) => spec.template.metadata.annotations !== undefined;
    expect(await each(isRestarted)).toEqual({ one: false, two: true, three: true });
  });

  it('leads to objects of any kind by name, label or image, by keys alone, and to those of the past', async () => {
    const { client } = server;
    const page = await open('/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.type('/app=fi');
    const options = page.getByRole('option');
    await options.filter({ hasText: 'default/fine' }).filter({ hasText: 'label app=fine' }).waitFor();
    // Enter means what was typed, although the answer to it is not there yet.
    await page.getByLabel('Kind and namespace').fill('app=wor');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'worse' }).waitFor();
    await client.post(pods.replace('pods', 'configmaps'), { metadata: { name: 'short-lived' } });
    const { newest } = (await client.get('/wherry/history')).body;
    await client.delete(pods.replace('pods', 'configmaps/short-lived'));
    await page.keyboard.type(':none');
    await options.filter({ hasText: 'image none' }).nth(2).waitFor();
    await page.getByLabel('Kind and namespace').fill('short-l');
    await page.getByText('Nothing is called that.').waitFor();
    await page.goto(`${server.cluster.url}/ui/?at=${newest}`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.type(':short-l');
    await options.filter({ hasText: 'default/short-lived' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'short-lived' }).waitFor();
    expect(page.url()).toContain(`at=${newest}`);
  });

  it('goes by keys to the first and the last row and by pages, and deletes many once that is typed', async () => {
    const page = await open('/ui/list/configmaps?ns=many');
    await page.locator('tr[data-name=m00]').waitFor();
    const cursor = () => page.locator('tr.cursor').getAttribute('data-name');
    /** How far the row is from the edges of its room, which the head of the table is no part of. */
    const room = (): Promise<number> =>
      page.evaluate(`(() => {
        const [box, head, row] = ['.tablebox', '.rows thead', 'tr.cursor'].map((name) =>
          document.querySelector(name).getBoundingClientRect(),
        );
        return Math.min(row.top - head.bottom, box.bottom - row.bottom);
      })()`);
    for (const [key, name] of [
      ['End', 'm39'],
      ['Home', 'm00'],
      ['G', 'm39'],
      ['g', 'm00'],
    ] as const) {
      await page.keyboard.press(key);
      await expect.poll(cursor, { message: key }).toBe(name);
      await expect.poll(room, { message: key }).toBeGreaterThanOrEqual(0);
    }
    await page.keyboard.press('PageDown');
    await expect.poll(cursor).toMatch(/^m[12]\d$/);
    for (let i = 0; i < 8; i++) await page.keyboard.press('j');
    await expect.poll(room, { message: 'a row below those in sight' }).toBeGreaterThanOrEqual(0);
    for (let i = 0; i < 8; i++) await page.keyboard.press('k');
    await page.keyboard.press('PageUp');
    await expect.poll(cursor).toBe('m00');
    await page.getByLabel('Select all').check();
    await page.keyboard.press('Delete');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('kubectl delete configmaps --all --namespace many').waitFor();
    const button = dialog.getByRole('button', { name: 'Delete' });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel('Type “delete 40” to go on').fill('delete 40');
    await button.click();
    await dialog.waitFor({ state: 'detached' });
    expect((await server.client.get(configMaps)).body.items).toEqual([]);
  });
});
