/**
 * Proves that the dashboard forwards ports of this machine to pods and services, lists and closes them, at the local door
 * alone and never to a door; and that a terminal says what it is, and can be one of an ephemeral container.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { freePorts } from '../support/free-ports.ts';
import { describeWith } from '../support/tools.ts';
import { axeFindings, useBrowser, useBuiltCluster } from './browser.ts';
import { pods, services } from './workloads.ts';

const waiting = { timeout: 60_000 };
const forwards = '/wherry/port-forwards';

/** The answer of a port, or the code of the error. */
const answerOf = (port: number): Promise<string> =>
  new Promise((resolve) => {
    const asked = request({ host: '127.0.0.1', port, path: '/', agent: false }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => resolve(text));
    });
    asked.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'error'));
    asked.end();
  });

describeWith('chromium')('ports and terminals in the page', () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-forwards-'));
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
  let port: number;

  beforeAll(async () => {
    [port] = (await freePorts(1)) as [number];
    const script = `require('http').createServer((_, a) => a.end('hello')).listen(${port}, '127.0.0.1')`;
    const command = [process.execPath, '-e', script];
    const containers = [{ name: 'main', image: 'host', command, ports: [{ containerPort: port }] }];
    await server.client.post(pods, {
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: { containers },
    });
    await server.client.post(services, {
      metadata: { name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ port }] },
    });
    await vi.waitFor(
      async () => expect((await server.client.get(`${pods}/web`)).body.status.phase).toBe('Running'),
      waiting,
    );
    await vi.waitFor(async () => expect(await answerOf(port)).toBe('hello'), waiting);
  });

  afterEach(async () => {
    for (const { id } of (await server.client.get(forwards)).body.items)
      await server.client.delete(`${forwards}/${id}`);
  });

  /** Why the last connection of the only forward failed. */
  const failure = async (): Promise<string | undefined> =>
    (await server.client.get(forwards)).body.items[0]?.error;
  const open = (query: string) => server.client.post(`${forwards}?namespace=default&${query}`, {});

  it('opens a port, shows it, and closes it', async () => {
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/web?tab=ports`);
    await page.getByText('None is open.').waitFor();
    await page.getByRole('button', { name: `Forward ${port} to this machine` }).click();
    const link = page.locator('.forwards a');
    await link.waitFor();
    const local = Number(/:(\d+)/.exec((await link.textContent())!)![1]);
    expect(local).not.toBe(port);
    expect(await answerOf(local)).toBe('hello');
    await page.getByText(/0 open, 1 in all/).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('button', { name: `Close 127.0.0.1:${local}` }).click();
    await page.getByText('None is open.').waitFor();
    expect(await answerOf(local)).toBe('ECONNREFUSED');
    await page.getByLabel('Another port of this pod').fill(String(port));
    await page.getByRole('button', { name: 'Forward', exact: true }).click();
    await link.waitFor();
    const { items } = (await server.client.get(forwards)).body;
    expect(items).toMatchObject([{ resource: 'pods', namespace: 'default', name: 'web', port }]);
    await server.client.delete(`${forwards}/${items[0].id}`);
    expect((await server.client.delete(`${forwards}/${items[0].id}`)).status).toBe(404);
  });

  it('refuses what makes no sense, and says why a connection failed', async () => {
    const refused: [string, number][] = [
      ['pod=web', 400],
      [`port=${port}`, 400],
      ['pod=web&port=70000', 400],
      [`pod=web&service=web&port=${port}`, 400],
      [`pod=gone&port=${port}`, 404],
      [`pod=web&port=${port}&localPort=${port}`, 409],
    ];
    for (const [query, code] of refused) expect((await open(query)).status, query).toBe(code);
    const [unused] = (await freePorts(1)) as [number];
    const { body } = await open(`pod=web&port=${unused}`);
    expect(await answerOf(body.localPort)).toMatch(/ECONNRESET|socket hang up/);
    await expect.poll(failure, waiting).toMatch(/refused/);
  });

  it('never leads to a door', async () => {
    const { cluster, client } = server;
    for (const door of [cluster.url, cluster.secureUrl!]) {
      const { body } = await open(`pod=web&port=${new URL(door).port}`);
      expect(await answerOf(body.localPort)).toMatch(/ECONNRESET|socket hang up/);
      await expect.poll(failure, waiting).toMatch(/not allowed/);
      await client.delete(`${forwards}/${body.id}`);
    }
  });

  it('is refused and absent at the secure door', async () => {
    const { cluster, client } = server;
    const admin = '/api/v1/namespaces/default/serviceaccounts';
    await client.post(admin, { metadata: { name: 'boss' } });
    await client.post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'boss' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'boss' }],
    });
    const { body } = await client.post(`${admin}/boss/token`, { spec: {} });
    const page = await browser.open(
      `${cluster.secureUrl}/ui/object/pods/default/web?tab=ports`,
      { ignoreHTTPSErrors: true },
      /40[13]/,
    );
    await page.getByLabel('Token').fill(body.status.token);
    const asked: string[] = [];
    page.on('request', (sent) => asked.push(sent.url()));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Open by HTTP', exact: true }).waitFor();
    expect(await page.getByText('Port-forwards of this machine').count()).toBe(0);
    expect(asked.filter((url) => url.includes(forwards))).toEqual([]);
    const headers = { Authorization: `Bearer ${body.status.token}` };
    const query = `?namespace=default&pod=web&port=${port}`;
    for (const method of ['GET', 'POST']) {
      const answer = await page.request.fetch(`${cluster.secureUrl}${forwards}${query}`, { method, headers });
      expect(answer.status(), method).toBe(403);
      expect(await answer.text()).toContain('local address alone');
    }
    expect((await client.get(forwards)).body.items).toEqual([]);
  });

  it('says what a terminal is, and opens one in an ephemeral container', async () => {
    const page = await browser.open(`${server.cluster.url}/ui/object/pods/default/web?tab=terminal`);
    const facts = page.locator('.shellfacts');
    await facts.getByText(/^main is a process of the node .*image host, as /).waitFor();
    await page.getByRole('button', { name: 'Debug container' }).click();
    const form = page.getByRole('form', { name: 'Debug container' });
    expect(await form.getByLabel('Image').inputValue()).toBe('host');
    await page.getByText('kubectl debug -it web --image=host --target=main').waitFor();
    await form.getByRole('button', { name: 'Debug' }).click();
    await facts.getByText(/^debugger-1 is .*beside the container main/).waitFor();
    const text = () => page.locator('.xterm-rows').innerText();
    await expect.poll(text, waiting).toContain('attached');
    await page.keyboard.type('echo $((6*7))x');
    await page.keyboard.press('Enter');
    await expect.poll(text, waiting).toContain('42x');
    await page.keyboard.press('Tab');
    await page.locator('.screen :focus').waitFor();
    await page.keyboard.press('Shift+F6');
    await page.locator('.session.current button:focus').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    const { spec } = (await server.client.get(`${pods}/web`)).body;
    expect(spec.ephemeralContainers).toMatchObject([{ name: 'debugger-1', targetContainerName: 'main' }]);
  });
});
