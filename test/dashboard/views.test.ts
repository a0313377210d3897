/**
 * Proves that the dashboard shows the cluster live: overview, tables, objects; by mouse, by keyboard, and to a screen
 * reader.
 */
import { beforeAll, expect, it, vi } from 'vitest';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { axeFindings, cellsOf, showWholeEditor, useBrowser, useBuiltCluster } from './browser.ts';
import {
  configMaps,
  cronJob,
  cronJobs,
  deployment,
  deployments,
  pods,
  service,
  services,
} from './workloads.ts';

describeWith('chromium')('the page', () => {
  const server = useBuiltCluster();
  const browser = useBrowser();
  const open = (path: string, options = {}) => browser.open(`${server.cluster.url}${path}`, options);

  beforeAll(async () => {
    const { client } = server;
    await client.post(deployments, deployment('web', 3));
    await client.post(services, service('web'));
    await client.post(cronJobs, cronJob('report'));
    await client.post(pods, {
      metadata: { name: 'huge' },
      spec: { containers: [{ name: 'huge', image: 'huge', resources: { requests: { cpu: '9000' } } }] },
    });
    await vi.waitFor(
      async () => expect((await client.get(`${deployments}/web`)).body.status?.readyReplicas).toBe(3),
      { timeout: 60_000 },
    );
  });

  it('opens at / with the overview', async () => {
    const page = await open('/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByText('server is healthy').waitFor();
    await page.getByText('2 of 2 ready').waitFor();
    await page.getByRole('link', { name: 'Pending' }).waitFor();
    await page.getByText('FailedScheduling').first().waitFor();
    await page.locator('.plot canvas').first().waitFor();
  });

  it('shows a rollout live', async () => {
    const page = await open('/ui/list/pods?q=rolling');
    await page.getByText('Nothing fits the search.').waitFor();
    await server.client.post(deployments, deployment('rolling', 2));
    await expect.poll(() => cellsOf(page, 5)).toEqual(['Running', 'Running']);
    const before = await cellsOf(page, 3);
    const spec = { template: { spec: { containers: [{ name: 'rolling', image: 'rolling:2' }] } } };
    await server.client.patch(`${deployments}/rolling`, { spec }, 'application/strategic-merge-patch+json');
    await expect.poll(async () => (await cellsOf(page, 3)).some((name) => before.includes(name))).toBe(false);
    await expect.poll(() => cellsOf(page, 5)).toEqual(['Running', 'Running']);
    await server.client.delete(`${deployments}/rolling`);
    await expect.poll(() => cellsOf(page, 3)).toEqual([]);
  });

  it('keeps search, labels, order and namespace in the address', async () => {
    const page = await open('/ui/list/pods');
    await page.locator('tr[data-name=huge]').waitFor();
    await page.getByLabel('Search').fill('web');
    await expect.poll(() => page.locator('tr[data-name]').count()).toBe(3);
    await page.getByLabel('Search').fill('');
    await page.getByLabel('Labels').fill('app in (web)');
    await expect.poll(() => page.locator('tr[data-name]').count()).toBe(3);
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    await page.getByLabel('Namespace').selectOption('default');
    await expect.poll(() => page.url()).toContain('labels=app+in+%28web%29&sort=-Name&ns=default');
    // The names are in this column once the namespace is chosen.
    const isName = (text: string) => text.startsWith('web-');
    let names: string[] = [];
    await expect
      .poll(async () => (names = await cellsOf(page, 2)).filter(isName).length, { timeout: 60_000 })
      .toBe(3);
    expect(names).toEqual(names.toSorted().reverse());
    await page.reload();
    await expect.poll(() => cellsOf(page, 2)).toEqual(names);
  });

  it('frees what it has drawn, so that its memory stays as it is while rows change', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `busy-${i}`);
    for (const name of names) await server.client.post(configMaps, { metadata: { name } });
    const page = await open('/ui/list/configmaps?ns=default&q=busy');
    await expect.poll(() => page.locator('tr[data-name]').count()).toBe(names.length);
    const session = await page.context().newCDPSession(page);
    const usedAfter = async (changes: number): Promise<number> => {
      for (let i = 0; i < changes; i++) {
        await server.client.patch(`${configMaps}/${names[i % names.length]}`, { data: { turn: String(i) } });
        // Each change is drawn by itself.
        await page.evaluate(() => new Promise((drawn) => (globalThis as any).requestAnimationFrame(drawn)));
      }
      await session.send('HeapProfiler.collectGarbage');
      return (await session.send('Runtime.getHeapUsage')).usedSize;
    };
    const before = await usedAfter(20);
    expect((await usedAfter(isRelease ? 120 : 40)) - before).toBeLessThan(1_000_000);
  });

  it('deletes what is selected, and only after it was asked', async () => {
    for (const name of ['one', 'two', 'three']) await server.client.post(configMaps, { metadata: { name } });
    const page = await open('/ui/list/configmaps?ns=default');
    await page.getByLabel('Select one').check();
    await page.getByLabel('Select two').check();
    await page.getByRole('button', { name: 'Delete 2' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('kubectl delete configmaps one two --namespace default').waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(async () => (await server.client.get(`${configMaps}/one`)).status).toBe(404);
    expect((await server.client.get(`${configMaps}/three`)).status).toBe(200);
  });

  it('shows of an object its state, family, relatives and events', async () => {
    const page = await open('/ui/object/deployments.apps/default/web');
    await page.getByText('3 of 3').first().waitFor();
    await page.getByText('Available', { exact: true }).waitFor();
    await page.locator('.tree').getByText('ReplicaSet').waitFor();
    const pod = page
      .locator('.tree a')
      .filter({ hasText: /^web-\w+-\w+$/ })
      .first();
    await page.getByText('ScalingReplicaSet').first().waitFor();
    await pod.click();
    await page.locator('.related').getByRole('link', { name: 'web', exact: true }).waitFor();
    await page
      .locator('.related')
      .getByRole('link', { name: /^simulated-/ })
      .waitFor();
    await page.getByRole('tab', { name: 'YAML' }).click();
    await showWholeEditor(page);
    await page.getByText('restartPolicy: Always').waitFor();
    await page.goto(`${server.cluster.url}/ui/object/services/default/web`);
    await expect.poll(() => page.locator('.related li').count()).toBe(4);
  });

  it('can be used by the keyboard alone', async () => {
    const page = await open('/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('jump to a kind').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press(':');
    await page.getByRole('dialog').getByLabel('Kind and namespace').waitFor();
    await page.keyboard.type('po default');
    await page.keyboard.press('Enter');
    await page.locator('tr[data-name=huge]').waitFor();
    expect(page.url()).toContain('/ui/list/pods?ns=default');
    await page.keyboard.press('/');
    await page.keyboard.type('web');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('tr[data-name]').count()).toBe(3);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const second = await page.locator('tr.cursor').getAttribute('data-name');
    expect(second).toBe((await cellsOf(page, 2))[1]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: second! }).waitFor();
    await page.keyboard.press('y');
    await showWholeEditor(page);
    await page.getByText('nodeName: simulated-').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('tr[data-name]').first().waitFor();
  });

  it('gives every dialog the focus, keeps it there by Tab, and gives it back to where it was', async () => {
    const page = await open('/ui/object/deployments.apps/default/web');
    const dialog = page.getByRole('dialog');
    // Between the last and the first field is the browser itself.
    const focused = (): Promise<string> =>
      page.evaluate(`(({ activeElement: at, body }) => {
        if (document.querySelector('dialog[open]')?.contains(at)) return 'in';
        if (at?.hasAttribute('data-opener')) return 'opener';
        return at === body ? 'browser' : at.outerHTML.slice(0, 200);
      })(document)`);
    const visit = async (
      opener: ReturnType<typeof page.locator>,
      key: string,
      first: string,
    ): Promise<void> => {
      await opener.waitFor();
      await opener.evaluate((element) => element.setAttribute('data-opener', ''));
      await opener.focus();
      await page.keyboard.press(key);
      await dialog.locator(`${first}:focus`).waitFor();
      for (const tab of [...Array(10).fill('Tab'), 'Shift+Tab', 'Shift+Tab'] as string[]) {
        await page.keyboard.press(tab);
        expect(['in', 'browser'], `${first} ${tab}`).toContain(await focused());
      }
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      expect(await focused(), first).toBe('opener');
      await opener.evaluate((element) => element.removeAttribute('data-opener'));
    };
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
    const link = page.getByRole('link', { name: 'Overview' });
    await visit(link, '?', 'button');
    await visit(link, ':', 'input');
    await visit(button('Scale'), 'Enter', 'form input');
    await visit(button('Restart'), 'Enter', 'form button[type=submit]');
    await visit(button('Delete'), 'Enter', 'form button[type=submit]');
    await page.goto(`${server.cluster.url}/ui/list/pods?ns=default`);
    await page.getByLabel('Select huge').check();
    await visit(button('View'), 'Enter', 'input');
    await visit(button('Delete 1'), 'Space', 'form button[type=submit]');
    await page.goto(`${server.cluster.url}/ui/snapshots`);
    await visit(button('Save a snapshot'), 'Enter', 'form input');
    await fetch(`${server.cluster.url}/wherry/snapshots/calm`, { method: 'PUT' });
    await page.reload();
    await visit(button('Load calm'), 'Enter', 'form button[type=submit]');
    await visit(button('Delete calm'), 'Enter', 'form button[type=submit]');
    await server.client.delete('/wherry/snapshots/calm');
    await server.client.post(deployments, deployment('rolled', 0));
    const spec = { template: { spec: { containers: [{ name: 'rolled', image: 'rolled:2' }] } } };
    await server.client.patch(`${deployments}/rolled`, { spec }, 'application/strategic-merge-patch+json');
    await page.goto(`${server.cluster.url}/ui/object/deployments.apps/default/rolled`);
    await visit(button('Roll back to 1'), 'Enter', 'form select');
    await visit(button('Roll back'), 'Enter', 'form select');
    await server.client.delete(`${deployments}/rolled`);
  });

  it('shows on first screens what people ask first of workloads, services, nodes, values and cron jobs', async () => {
    const { client } = server;
    const spec = { template: { spec: { containers: [{ name: 'old', image: 'old:2' }] } } };
    await client.post(deployments, deployment('old', 1));
    await client.patch(`${deployments}/old`, { spec }, 'application/strategic-merge-patch+json');
    const page = await open('/ui/object/deployments.apps/default/old');
    await page.locator('.revisions p').getByText('old:2').waitFor();
    await page.getByText('What it changed').click();
    await page.getByLabel('What changed').getByText('image: old:2').waitFor();
    await page.getByRole('button', { name: 'Roll back to 1' }).click();
    await page.getByRole('dialog').getByText('--to-revision=1').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.locator('.podtable').getByText('Running').first().waitFor();
    await page.goto(`${server.cluster.url}/ui/object/deployments.apps/default/web`);
    await page.locator('.related').getByText('3 of 3 endpoints ready').waitFor();

    await page.goto(`${server.cluster.url}/ui/object/services/default/web`);
    await page.getByText('web.default.svc:80').waitFor();
    await page.getByText('3 of 3 ready').waitFor();
    await page.goto(`${server.cluster.url}/ui/object/nodes/-/simulated-1`);
    await page.getByRole('meter', { name: 'Requested' }).first().waitFor();
    await page.locator('.podtable').getByText('default/').first().waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.goto(`${server.cluster.url}/ui/object/cronjobs.batch/default/report`);
    await page.getByText('None are kept.').first().waitFor();

    const secrets = '/api/v1/namespaces/default/secrets';
    await client.post(secrets, { metadata: { name: 'login' }, stringData: { word: 'open ⚓' } });
    await page.goto(`${server.cluster.url}/ui/object/secrets/default/login`);
    await page.getByText('••••').waitFor();
    expect(await page.getByText('open ⚓').count()).toBe(0);
    await page.getByRole('button', { name: 'Show word' }).click();
    await page.getByText('open ⚓').waitFor();
    await page.getByRole('button', { name: 'Edit word' }).click();
    await page.getByLabel('Value of word').fill('shut ⚓');
    await page.getByRole('button', { name: 'Apply' }).click();
    const stored = async () => (await client.get(`${secrets}/login`)).body.data;
    await expect.poll(stored).toEqual({ word: Buffer.from('shut ⚓').toString('base64') });
    await page.getByRole('button', { name: 'Add a key' }).click();
    await page.getByLabel('Name of the key').fill('more');
    await page.getByLabel('Value of more').fill('x');
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Apply' }).click();
    await expect.poll(async () => (await stored()).more).toBe('eA==');
    await client.delete(`${deployments}/old`);
  });

  it('takes names, labels and values for text, whatever they hold', async () => {
    const evil = '<img src=x onerror="window.hacked = true"><script>window.hacked = true</script>';
    await server.client.post(configMaps, {
      metadata: { name: 'evil', annotations: { note: evil } },
      data: { [`k`]: `${evil}\n  - not: yaml\r\n\u001b[31m` },
    });
    await server.client.post('/api/v1/namespaces/default/events', {
      metadata: { name: 'evil.1' },
      involvedObject: { kind: 'ConfigMap', namespace: 'default', name: 'evil', uid: 'x', apiVersion: 'v1' },
      type: 'Warning',
      reason: evil,
      message: evil,
    });
    const page = await open('/ui/object/configmaps/default/evil?tab=yaml');
    await page.getByText('onerror').first().waitFor();
    await page.goto(`${server.cluster.url}/`);
    await page.getByText('onerror').first().waitFor();
    await page.goto(`${server.cluster.url}/ui/list/configmaps?q=${encodeURIComponent(evil)}`);
    await page.getByText('Nothing fits the search.').waitFor();
    expect(await page.evaluate(() => (globalThis as any).hacked)).toBeUndefined();
    expect(await page.locator('img, main script').count()).toBe(0);
  });

  it('has nothing that axe finds, in light and in dark, and fits', async () => {
    const page = await open('/');
    for (const path of [
      '/',
      '/ui/list/pods',
      '/ui/object/deployments.apps/default/web',
      '/ui/timeline?ns=default',
    ]) {
      await page.goto(`${server.cluster.url}${path}`);
      await page.locator('main h1').waitFor();
      await page
        .getByText(/web|server is healthy/)
        .first()
        .waitFor();
      for (const width of [400, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        if (width === 1280) expect(await axeFindings(page), path).toEqual([]);
        if (path === '/ui/list/pods') {
          const { x } = (await page.locator('.rows td').getByText('Running').first().boundingBox())!;
          expect(x).toBeLessThan(width - 60);
          // Cards have the namespace above the name, also in a window that was wider before.
          await expect
            .poll(() =>
              page
                .locator('.rows .above')
                .count()
                .then((count) => count > 0),
            )
            .toBe(width < 500);
        }
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), path).toBe(true);
      }
    }
  });
});
