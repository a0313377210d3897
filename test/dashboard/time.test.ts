/**
 * Proves that the dashboard goes back in time: to a former state of the cluster, through the versions of an object,
 * along lanes.
 */
import { beforeAll, expect, it, vi } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { cellsOf, useBrowser, useBuiltCluster } from './browser.ts';
import { configMaps, deployment, deployments } from './workloads.ts';

describeWith('chromium')('the time machine', () => {
  const server = useBuiltCluster();
  const browser = useBrowser();
  const open = (path: string) => browser.open(`${server.cluster.url}${path}`);
  let before: string;

  beforeAll(async () => {
    const { client } = server;
    await client.post(configMaps, { metadata: { name: 'first' }, data: { colour: 'red' } });
    const { body } = await client.post(configMaps, { metadata: { name: 'second' }, data: { colour: 'red' } });
    before = body.metadata.resourceVersion;
    await client.patch(`${configMaps}/first?fieldManager=painter`, { data: { colour: 'blue' } });
    await client.delete(`${configMaps}/second`);
    await client.post(configMaps, { metadata: { name: 'third' } });
    await client.post(deployments, deployment('web', 2));
    await vi.waitFor(
      async () => expect((await client.get(`${deployments}/web`)).body.status?.readyReplicas).toBe(2),
      { timeout: 60_000 },
    );
  });

  const names = (page: Awaited<ReturnType<typeof open>>, column: number) =>
    cellsOf(page, column).then((cells) =>
      cells.filter((name) => ['first', 'second', 'third'].includes(name)),
    );

  it('shows the whole page as it was, at an address that can be shared', async () => {
    const page = await open('/ui/list/configmaps?ns=default');
    await expect.poll(() => names(page, 2)).toEqual(['first', 'third']);
    await page.goto(`${server.cluster.url}/ui/list/configmaps?ns=default&at=${before}`);
    // Nothing of the past can be selected for deletion.
    await expect.poll(() => names(page, 1)).toEqual(['first', 'second']);
    await page.getByRole('link', { name: 'first' }).click();
    await page.getByRole('tab', { name: 'YAML' }).click();
    await page.getByText('colour: red').waitFor();
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Now' }).click();
    await page.getByText('colour: blue').waitFor();
  });

  it('steps from change to change, and back to now', async () => {
    const page = await open(`/ui/list/configmaps?ns=default&at=${before}`);
    const told = page.locator('.lastchange');
    await told.getByText('second').waitFor();
    await page.getByRole('button', { name: 'Step forward' }).click();
    await expect.poll(() => told.textContent()).toContain('first changed by painter');
    await page.keyboard.press(']');
    await expect.poll(() => told.textContent()).toContain('second deleted');
    await expect.poll(() => names(page, 1)).toEqual(['first']);
    await page.keyboard.press('[');
    await expect.poll(() => names(page, 1)).toEqual(['first', 'second']);
    await page.keyboard.press('n');
    await expect.poll(() => names(page, 2)).toEqual(['first', 'third']);
    expect(page.url()).not.toContain('at=');
  });

  it('lists the versions of an object with who wrote them, as differences', async () => {
    const page = await open('/ui/object/configmaps/default/first?tab=history');
    const latest = page.locator('.versions li').first();
    await latest.getByText('painter').waitFor();
    await expect.poll(() => latest.locator('.removed').allTextContents()).toEqual(['−   colour: red\n']);
    expect(await latest.locator('.added').allTextContents()).toEqual(['+   colour: blue\n']);
    expect(await page.locator('.versions li').count()).toBe(2);
    await page.locator('.versions li').last().getByRole('button').click();
    await page.getByText('version', { exact: false }).first().waitFor();
    expect(page.url()).toContain('at=');
  });

  it('shows what happened in a namespace as lanes', async () => {
    const page = await open('/ui/timeline?ns=default');
    const lane = page
      .locator('.lane')
      .filter({ hasText: /Pod web-/ })
      .first();
    await expect
      .poll(async () => {
        const marks = await lane.locator('.mark').evaluateAll((all) => all.map((mark) => mark.ariaLabel));
        return ['created', 'started', 'ready'].every((what) => marks.includes(what));
      })
      .toBe(true);
    await page
      .locator('.lane')
      .filter({ hasText: 'ConfigMap second' })
      .locator('[aria-label=deleted]')
      .waitFor();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await expect.poll(() => page.url()).toContain('from=');
    // Wherever the window begins, no time is cut at its end.
    for (let step = 0; step < 8; step++) {
      const cut = await page
        .locator('.axis .track')
        .evaluate((track) =>
          [...track.children]
            .filter((one) => one.getBoundingClientRect().right > track.getBoundingClientRect().right + 1)
            .map((one) => one.textContent),
        );
      expect(cut).toEqual([]);
      await page.getByRole('button', { name: 'Zoom out' }).press('Enter');
    }
  });

  it('shows lanes that are still being read as far as they are known, and says so', async () => {
    const page = await open('/ui/list/configmaps?ns=default');
    const held: (() => void)[] = [];
    let isHeld = true;
    // The history of config maps comes to a halt before the deletion of the second.
    await page.routeWebSocket(/\/wherry\/watches/, (socket) => {
      const ids = new Set<string>();
      const halted = new Set<string>();
      const behind = socket.connectToServer();
      socket.onMessage((text) => {
        const { start, path } = JSON.parse(String(text));
        if (path?.includes('/configmaps')) ids.add(start);
        behind.send(text);
      });
      behind.onMessage((text) => {
        const { id, type } = JSON.parse(String(text));
        if (ids.has(id) && type === 'DELETED') halted.add(id);
        if (isHeld && halted.has(id)) held.push(() => socket.send(text));
        else socket.send(text);
      });
    });
    await page.goto(`${server.cluster.url}/ui/timeline?ns=default`);
    const lane = (text: string) => page.locator('.lane').filter({ hasText: text });
    const end = (text: string): Promise<number> =>
      lane(text)
        .locator('.span')
        .evaluateAll((spans) => Math.max(...spans.map((span) => span.getBoundingClientRect().right)));
    await page.getByRole('status').getByText('Still reading ConfigMaps').waitFor();
    await expect
      .poll(async () => (await end('Deployment web')) - (await end('ConfigMap second')))
      .toBeGreaterThan(1);
    expect(await lane('ConfigMap second').locator('[aria-label=deleted]').count()).toBe(0);
    isHeld = false;
    for (const send of held) send();
    await lane('ConfigMap second').locator('[aria-label=deleted]').waitFor();
    await page.getByText('Still reading').waitFor({ state: 'detached' });
  });
});
