/** Proves that the page shows logs of pods and runs shells in them, also when the connection is lost for a while. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describeWith } from '../tools.ts';
import { seriousFindings, useBrowser, useBuiltCluster } from './browser.ts';
import { CuttableWay } from './cuttable.ts';
import { pods } from './workloads.ts';

const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>';
const counting =
  'i=0; while :; do i=$((i+1)); echo "{\\"level\\":\\"info\\",\\"msg\\":\\"line $i\\"}"; sleep 0.2; done';
const waiting = { timeout: 60_000 };

describeWith('chromium')('pods in the page', () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-window-'));
  const server = useBuiltCluster({
    simulatedNodes: 0,
    node: { podNetwork: 'host' },
    dataDir,
    store: 'memory',
  });
  const browser = useBrowser();
  let way: CuttableWay;

  const container = (name: string, script: string) => ({
    name,
    image: 'host',
    command: ['sh', '-c', script],
  });
  const run = async (name: string, spec: object): Promise<void> => {
    await server.client.post(pods, { metadata: { name }, spec });
    await vi.waitFor(
      async () => expect((await server.client.get(`${pods}/${name}`)).body.status.phase).toBe('Running'),
      waiting,
    );
  };

  beforeAll(async () => {
    way = await CuttableWay.open(server.cluster.url);
    await run('talker', {
      initContainers: [container('prepare', 'echo prepared')],
      containers: [container('main', counting), container('side', `echo '${hostile}'; sleep 100000`)],
    });
  });
  afterAll(async () => {
    await way?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** The numbers of the lines in sight. */
  const numbers = async (page: Page): Promise<number[]> => {
    const rows = await page.locator('.loglist tbody tr').allTextContents();
    return rows.flatMap((text) => /line (\d+)/.exec(text)?.[1] ?? []).map(Number);
  };
  const newest = async (page: Page): Promise<number> => (await numbers(page)).at(-1) ?? 0;

  it('shows the logs of all containers together, follows them, and keeps them text', async () => {
    const page = await browser.open(`${server.cluster.url}/ui/list/pods`);
    await page.locator('tr[data-name=talker]').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('l');
    await page.getByRole('cell', { name: 'prepared' }).waitFor();
    await page.getByText(hostile).waitFor();
    expect(await page.locator('.loglist img, .loglist script').count()).toBe(0);
    await page.getByRole('columnheader', { name: 'msg' }).waitFor();
    const before = await newest(page);
    await expect.poll(() => newest(page), waiting).toBeGreaterThan(before + 3);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByLabel('Search the log').fill('prepared');
    await page.getByText(/^1 of \d+ lines$/).waitFor();
    await page.getByLabel('Search the log').fill('/line [12]"/');
    await page.getByText(/^2 of \d+ lines$/).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).toBe('talker.log');
  });

  it('goes on with a log after the connection was lost, without a line twice', async () => {
    const address = `${way.url}/ui/object/pods/default/talker?tab=logs&container=main`;
    const page = await browser.open(address, {}, /ERR_|WebSocket/);
    await expect.poll(() => newest(page), waiting).toBeGreaterThan(0);
    const before = await newest(page);
    way.cut();
    await page.getByText('The server does not answer.').waitFor();
    way.mend();
    await expect.poll(() => newest(page), waiting).toBeGreaterThan(before + 5);
    const seen = await numbers(page);
    expect(seen).toEqual(seen.map((_, at) => seen[0]! + at));
  });

  it('shows 100,000 lines, and draws those in sight', async () => {
    await run('flood', { containers: [container('main', 'seq 100000; sleep 100000')] });
    const page = await browser.open(
      `${server.cluster.url}/ui/object/pods/default/flood?tab=logs&tail=100000`,
    );
    await page.getByText('100,000 lines').waitFor();
    await page.getByRole('cell', { name: '100000', exact: true }).waitFor();
    await page.locator('.loglist').evaluate((list) => list.scrollTo(0, 0));
    await page.getByRole('cell', { name: '1', exact: true }).waitFor();
    expect(await page.locator('.loglist tr').count()).toBeLessThan(200);
  });

  it('runs a shell that survives a look elsewhere and a lost connection', async () => {
    const address = `${way.url}/ui/object/pods/default/talker`;
    const page = await browser.open(address, {}, /ERR_|WebSocket/);
    const text = () => page.locator('.xterm-rows').innerText();
    await page.getByRole('tab', { name: 'Terminal' }).waitFor();
    await page.keyboard.press('s');
    await page.locator('.xterm-helper-textarea').waitFor();
    await expect.poll(text, waiting).toMatch(/[#$]/);
    await page.keyboard.type('echo $((6*7))x; stty size');
    await page.keyboard.press('Enter');
    await expect.poll(text, waiting).toMatch(/42x\s+[1-9]\d+ \d{2,}/);
    await page.getByRole('tab', { name: 'Summary' }).click();
    await page.locator('.xterm-rows').waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'Terminal' }).click();
    await expect.poll(text).toContain('42x');
    way.cut();
    await expect.poll(text, waiting).toContain('the connection was lost');
    way.mend();
    await expect.poll(text, waiting).toContain('connected again');
    expect(await text()).toContain('42x');
    await page.keyboard.type('echo $((7*7))y');
    await page.keyboard.press('Enter');
    await expect.poll(text, waiting).toContain('49y');
    await page.getByRole('button', { name: 'New terminal' }).click();
    await page.getByRole('textbox', { name: 'Command' }).fill("echo 'two  words'");
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await expect.poll(text, waiting).toContain('two  words');
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('shows what containers use', async () => {
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/talker?tab=usage`);
    await page.getByRole('heading', { name: 'side' }).waitFor();
    await page.locator('.plot canvas').first().waitFor();
  });
});
