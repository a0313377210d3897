/**
 * Proves that the dashboard shows logs of pods and runs shells in them, also when the connection is lost for a while.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePorts } from '../support/free-ports.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { axeFindings, useBrowser, useBuiltCluster } from './browser.ts';
import { CuttableWay } from './cuttable.ts';
import { pods, services } from './workloads.ts';

const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>';
const counting =
  'i=0; while :; do i=$((i+1)); echo "{\\"level\\":\\"info\\",\\"msg\\":\\"line $i\\"}"; sleep 0.2; done';
const waiting = { timeout: 60_000 };

describeWith('chromium')('pods in the page', () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-window-'));
  const server = useBuiltCluster({
    simulatedNodes: 0,
    node: { podNetwork: 'host', runtime: 'process' },
    dataDir,
    store: 'memory',
    secure: true,
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
  /** What a terminal shows. */
  const textOf = (page: Page): Promise<string> => page.locator('.xterm-rows').innerText();
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
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel('Search the log').fill('prepared');
    await page.getByText(/^1 of \d+ lines$/).waitFor();
    await page.getByLabel('Search the log').fill('/line [12]"/');
    await page.getByText(/^2 of \d+ lines$/).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).toBe('talker.log');
  });

  it('shows the logs of all pods of a workload together, and of those that come later', async () => {
    const labels = { app: 'choir' };
    const containers = [
      container('main', 'echo "I am $(hostname -s 2>/dev/null || true) $RANDOM"; sleep 100000'),
    ];
    const spec = {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    };
    const sets = '/apis/apps/v1/namespaces/default/replicasets';
    await server.client.post(sets, { metadata: { name: 'choir' }, spec });
    const page = await browser.open(`${server.cluster.url}/ui/object/replicasets.apps/default/choir`);
    await page.getByRole('tab', { name: 'Logs' }).click();
    const sources = async () => new Set(await page.locator('.loglist .source').allTextContents()).size;
    await expect.poll(sources, waiting).toBe(2);
    await server.client.patch(`${sets}/choir`, { spec: { replicas: 3 } });
    await expect.poll(sources, waiting).toBe(3);
    const [name] = await page.locator('.loglist .source').allTextContents();
    await page.getByLabel('Pod', { exact: true }).selectOption(name!);
    await page.getByText('1 lines').waitFor();
    await server.client.delete(`${sets}/choir`);
  });

  it('says on the first screen what a pod does, why it fails, and its last lines', async () => {
    const failing = container('main', 'echo connecting; echo no database >&2; exit 3');
    const readinessProbe = { exec: { command: ['sh', '-c', 'echo not loaded; exit 1'] }, periodSeconds: 1 };
    const unready = { ...container('unready', 'sleep 100000'), readinessProbe };
    await server.client.post(pods, {
      metadata: { name: 'failing' },
      spec: { containers: [unready, failing] },
    });
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/failing`);
    await page.locator('.podstate').getByText('Container main ends again and again').waitFor();
    const card = (name: string) => page.locator('.container').filter({ hasText: name });
    await card('main').locator('pre').getByText('no database').waitFor();
    const text = await card('main').innerText();
    expect(text).toContain('exit code 3');
    expect(text).toContain('a process of the node');
    await card('unready').getByText('Readiness probe failed: not loaded').waitFor();
    await page.getByText('Back-off restarting failed container main').first().waitFor();
    expect((await page.getByRole('heading', { name: 'Events' }).boundingBox())!.y).toBeLessThan(400);
    expect(await axeFindings(page)).toEqual([]);
    await server.client.delete(`${pods}/failing`);
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
    await page.locator('.loglist').press('Enter');
    const chosen = page.getByRole('region', { name: 'Line' }).last();
    const last = Number(await chosen.textContent());
    expect(last).toBeGreaterThan(5);
    await page.keyboard.press('ArrowUp');
    await chosen.getByText(String(last - 1), { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await chosen.waitFor({ state: 'detached' });
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
    // The prompt of the new run: what is typed while the connection is lost goes nowhere.
    await expect.poll(async () => (await text()).split('new run').at(-1), waiting).toMatch(/[#$]/);
    await page.keyboard.type('echo $((7*7))y');
    await page.keyboard.press('Enter');
    await expect.poll(text, waiting).toContain('49y');
    await page.getByRole('button', { name: 'New terminal' }).click();
    await page.getByRole('textbox', { name: 'Command' }).fill("echo 'two  words'");
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await expect.poll(text, waiting).toContain('two  words');
    expect(await axeFindings(page)).toEqual([]);
  });

  it('keeps what is typed while a terminal connects', async () => {
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/talker`);
    let letIn = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      letIn = resolve;
    });
    await page.routeWebSocket(/\/exec\?/, async (socket) => {
      await held;
      socket.connectToServer();
    });
    await page.getByRole('tab', { name: 'Terminal' }).click();
    await page.locator('.xterm-helper-textarea:focus').waitFor({ state: 'attached' });
    await page.keyboard.type('echo $((6*7))z');
    await page.keyboard.press('Enter');
    expect(await textOf(page)).not.toContain('42z');
    letIn();
    await expect.poll(() => textOf(page), waiting).toContain('42z');
  });

  it('proposes to run a pod that can run without a container engine', async () => {
    const page = await browser.open(`${server.cluster.url}/ui/list/pods?ns=default`);
    await page.getByRole('button', { name: 'Run a pod' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('No node has a container engine').waitFor();
    const name = await dialog.getByLabel('Name').inputValue();
    await dialog.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator(`tr[data-name=${name}]`).getByText('Running').waitFor();
    await server.client.delete(`${pods}/${name}`);
  });

  it('shows what containers use', async () => {
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/talker?tab=usage`);
    await page.getByRole('heading', { name: 'side' }).waitFor();
    await page.locator('.plot canvas').first().waitFor();
  });

  it('goes on with the log of a container that starts again, and shows that of its run before', async () => {
    const flag = path.join(dataDir, 'stop');
    const script = `echo "run \`date +%s%N\`"; while [ ! -e ${flag} ]; do sleep 0.1; done; rm ${flag}; exit 1`;
    await run('phoenix', { containers: [container('main', script)] });
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/phoenix?tab=logs`);
    const runs = async (): Promise<string[]> =>
      (await page.locator('.loglist tbody tr').allTextContents()).flatMap(
        (text) => /run \d+/.exec(text)?.[0] ?? [],
      );
    await expect.poll(runs, waiting).toHaveLength(1);
    const [first] = await runs();
    writeFileSync(flag, '');
    await expect.poll(runs, waiting).toHaveLength(2);
    const [, second] = await runs();
    expect(second).not.toBe(first);
    await page.getByLabel('Previous').check();
    await expect.poll(runs, waiting).toEqual([first]);
  });

  it('says what a container without a log waits for, and asks for none', async () => {
    const containers = [{ name: 'main', image: 'none' }];
    await server.client.post(pods, { metadata: { name: 'waits' }, spec: { nodeName: 'silent', containers } });
    const containerStatuses = [
      {
        name: 'main',
        image: 'none',
        imageID: '',
        ready: false,
        restartCount: 0,
        state: { waiting: { reason: 'ErrImagePull' } },
      },
    ];
    await server.client.patch(`${pods}/waits/status`, { status: { containerStatuses } });
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/waits?tab=logs`);
    await page.getByText('main: it has not started: ErrImagePull').waitFor();
    await page.getByLabel('Previous').check();
    await page.getByText('main: there was no run before this one').waitFor();
  });

  it('shows the log of an ephemeral container that joins while it is looked at', async () => {
    await run('debugged', { containers: [container('main', 'sleep 100000')] });
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/debugged?tab=logs`);
    await page.getByText('0 lines').waitFor();
    const ephemeralContainers = [container('debug', 'echo from the debugger; sleep 100000')];
    await server.client.patch(
      `${pods}/debugged/ephemeralcontainers`,
      { spec: { ephemeralContainers } },
      'application/strategic-merge-patch+json',
    );
    await page.getByText('from the debugger').waitFor();
    await page.getByRole('option', { name: 'debug (ephemeral)' }).waitFor({ state: 'attached' });
  });

  it('attaches to the process of a container', async () => {
    const reader = {
      ...container('main', 'while read line; do echo "got $line"; done'),
      stdin: true,
      tty: true,
    };
    await run('reader', { containers: [reader] });
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/reader?tab=terminal`);
    await page.getByRole('button', { name: 'New terminal' }).click();
    await page.getByRole('button', { name: 'Attach' }).click();
    await page.getByRole('button', { name: '(attached)' }).waitFor();
    await expect.poll(() => textOf(page), waiting).toContain('attached');
    await page.getByText('kubectl attach -it reader').waitFor();
    await page.locator('.xterm-helper-textarea').focus();
    await page.keyboard.type('hello');
    await page.keyboard.press('Enter');
    await expect.poll(() => textOf(page), waiting).toContain('got hello');
  });

  it('says why a terminal is refused, and does not try again by itself', async () => {
    const page = await browser.open(
      `${server.cluster.url}/ui/object/pods/default/talker?tab=terminal`,
      {},
      /WebSocket|404|500|400/,
    );
    await page.getByRole('button', { name: 'New terminal' }).click();
    await page.getByRole('textbox', { name: 'Command' }).fill('/no/such/program');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('It has ended.').waitFor();
    expect(await textOf(page)).toContain('/no/such/program');
    // Upgrades are refused from here on, as by a proxy that does not know WebSockets.
    let attempts = 0;
    await page.routeWebSocket(/\/exec\?/, (socket) => {
      attempts++;
      void socket.close({ code: 1011, reason: 'the node is away' });
    });
    await page.clock.install();
    await page.getByRole('button', { name: 'Run again' }).click();
    for (let lost = 1; lost < 6; lost++) {
      // Time is moved on only while the page waits: a connection that was open for ten seconds counts as a good one.
      await page.locator('.session .bad').getByText('lost').waitFor();
      const next = async () => {
        await page.clock.fastForward(500);
        return attempts;
      };
      await expect.poll(next, waiting).toBe(lost + 1);
    }
    await expect.poll(() => textOf(page), waiting).toContain('given up after 6 attempts: the node is away');
    expect(attempts).toBe(6);
  });

  it('links ports of pods and services through the proxy of the server', async () => {
    const [port] = (await freePorts(1)) as [number];
    const web = `require('http').createServer((_, answer) => answer.end('hello from the pod')).listen(${port})`;
    const ports = [{ containerPort: port, name: 'web' }];
    const main = { name: 'main', image: 'host', command: [process.execPath, '-e', web], ports };
    await server.client.post(pods, {
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: { containers: [main] },
    });
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/web?tab=ports`);
    await page.getByText(`kubectl port-forward pod/web ${port}:${port} --namespace default`).waitFor();
    const link = page.getByRole('link', { name: 'Open by HTTP', exact: true });
    const address = `${server.cluster.url}${await link.getAttribute('href')}`;
    await expect.poll(async () => (await fetch(address)).text(), waiting).toBe('hello from the pod');
    const opened = page.waitForEvent('popup');
    await link.click();
    await (await opened).getByText('hello from the pod').waitFor();
    await server.client.post(services, {
      metadata: { name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ port }] },
    });
    await page.goto(`${server.cluster.url}/ui/object/services/default/web?tab=ports`);
    await page.getByText(`kubectl port-forward service/web ${port}:${port} --namespace default`).waitFor();
    const proxied = `${server.cluster.url}${await link.getAttribute('href')}`;
    await expect.poll(async () => (await fetch(proxied)).text(), waiting).toBe('hello from the pod');
  });

  describe('on the secure door', () => {
    /** Follows a log and runs a command. */
    const use = async (page: Page): Promise<void> => {
      await expect.poll(() => newest(page), waiting).toBeGreaterThan(0);
      const before = await newest(page);
      await expect.poll(() => newest(page), waiting).toBeGreaterThan(before + 3);
      await page.getByRole('tab', { name: 'Terminal' }).click();
      await expect.poll(() => textOf(page), waiting).toMatch(/[#$]/);
      await page.keyboard.type('echo $((6*7))x');
      await page.keyboard.press('Enter');
      await expect.poll(() => textOf(page), waiting).toContain('42x');
    };
    const logs = () => `${server.cluster.secureUrl}/ui/object/pods/default/talker?tab=logs&container=main`;

    it('shows logs and runs shells for a token', async () => {
      const accounts = '/api/v1/namespaces/default/serviceaccounts';
      await server.client.post(accounts, { metadata: { name: 'operator' } });
      await server.client.post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        metadata: { name: 'operator' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace: 'default' }],
      });
      const { body } = await server.client.post(`${accounts}/operator/token`, { spec: {} });
      const page = await browser.open(logs(), { ignoreHTTPSErrors: true }, /40[13]/);
      await page.getByLabel('Token').fill(body.status.token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await use(page);
    });

    it.runIf(isRelease)('shows logs and runs shells for a client certificate', async () => {
      const { users } = JSON.parse(server.cluster.kubeconfigFor('wherry-admin'));
      const { user } = users[0];
      const pem = (name: string) => Buffer.from(user[name], 'base64');
      const page = await browser.open(logs(), {
        ignoreHTTPSErrors: true,
        clientCertificates: [
          {
            origin: server.cluster.secureUrl!,
            cert: pem('client-certificate-data'),
            key: pem('client-key-data'),
          },
        ],
      });
      await use(page);
    });
  });
});
