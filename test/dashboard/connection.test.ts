/**
 * Proves how the dashboard is served and what it does when the server does not let it in or goes away: content
 * negotiation, its policy, sign-in on the secure door, refusals, a server that is busy or restarts.
 */
import { get } from 'node:https';
import type { WebSocket } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Cluster } from '../../src/cluster/index.ts';
import { freePorts } from '../support/free-ports.ts';
import { describeWith } from '../support/tools.ts';
import { ApiClient, cellsOf, startBuilt, useBrowser, useBuiltCluster } from './browser.ts';
import { configMaps } from './workloads.ts';

const html = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describeWith('chromium')('the page', () => {
  const server = useBuiltCluster({ simulatedNodes: 0, secure: true });
  const browser = useBrowser();

  it('is what browsers get at /; API clients get the list of paths', async () => {
    const ask = async (path: string, accept: string) => {
      const answer = await fetch(`${server.cluster.url}${path}`, { headers: { Accept: accept } });
      return { type: answer.headers.get('content-type'), text: await answer.text(), answer };
    };
    expect((await ask('/', html)).type).toBe('text/html; charset=utf-8');
    for (const accept of ['*/*', 'application/json', 'application/json, text/html'])
      expect(JSON.parse((await ask('/', accept)).text).paths).toContain('/api');
    expect((await ask('/api/v1', html)).type).toBe('application/json');
    expect((await ask('/ui/list/pods', html)).type).toBe('text/html; charset=utf-8');
    expect((await ask('/ui/object/configmaps/default/main.js', html)).type).toBe('text/html; charset=utf-8');
    expect((await ask('/ui/main-GONE.js', '*/*')).answer.status).toBe(404);
  });

  it('comes with a strict policy, and files that are cached for good', async () => {
    const answer = await fetch(`${server.cluster.url}/ui/`, { headers: { Accept: html } });
    const policy = answer.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const page = await answer.text();
    const [, script] = /src="(\.\/main-\w+\.js)"/.exec(page)!;
    const file = await fetch(new URL(script!, answer.url), {
      headers: { 'Accept-Encoding': 'identity' },
    });
    expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(file.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(file.headers.get('content-encoding')).toBeNull();
    expect(await file.text()).toContain('import');
  });

  it('is loaded again when its script does not come', async () => {
    const page = await browser.open('about:blank', {}, /ERR_FAILED/);
    let loads = 0;
    page.on('request', (request) => {
      if (request.isNavigationRequest()) loads++;
    });
    await page.route(/\/ui\/start-\w+\.js/, (route) => (loads === 1 ? route.abort() : route.continue()));
    await page.goto(`${server.cluster.url}/ui/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(loads).toBe(2);
  });

  it('is not there with the option ui: false', async () => {
    const without = await startBuilt({ ui: false });
    try {
      const root = await fetch(without.url, { headers: { Accept: html } });
      expect(((await root.json()) as any).paths).toContain('/api');
      expect((await fetch(`${without.url}/ui/`, { headers: { Accept: html } })).status).toBe(404);
    } finally {
      await without.close();
    }
  });

  it('has one WebSocket for all watches, whatever it shows', async () => {
    const { client, cluster } = server;
    await client.post(configMaps, { metadata: { name: 'watched' } });
    const page = await browser.open('about:blank');
    const open = new Set<WebSocket>();
    const opened: string[] = [];
    page.on('websocket', (socket) => {
      opened.push(new URL(socket.url()).pathname);
      open.add(socket);
      socket.on('close', () => open.delete(socket));
    });
    await page.goto(`${cluster.url}/ui/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    // By links and keys, within one page.
    await page.keyboard.type(':cm default');
    await page.keyboard.press('Enter');
    await expect.poll(() => cellsOf(page, 2)).toContain('watched');
    await page.getByRole('link', { name: 'watched', exact: true }).click();
    await page.getByRole('heading', { name: 'watched' }).waitFor();
    await page.keyboard.press('t');
    await page.getByRole('slider').waitFor();
    await page.keyboard.type(':events');
    await page.keyboard.press('Enter');
    await page.keyboard.type(':cm default');
    await page.keyboard.press('Enter');
    await client.post(configMaps, { metadata: { name: 'watched-later' } });
    await expect.poll(() => cellsOf(page, 2)).toContain('watched-later');
    // A new one takes the place of one that the machine has broken.
    await expect.poll(() => open.size).toBe(1);
    expect(new Set(opened)).toEqual(new Set(['/wherry/watches']));
  });

  it('lists again when history has moved past a watch, without a word and without losing its place', async () => {
    const { client, cluster } = server;
    const names = Array.from({ length: 60 }, (_, i) => `old-${String(i).padStart(2, '0')}`);
    const namespace = 'many';
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    await client.post('/api/v1/namespaces', { metadata: { name: namespace } });
    for (const name of names) await client.post(path, { metadata: { name } });
    const page = await browser.open('about:blank');
    // Between page and server: the watch of the table is told that its version is gone, and no more.
    const paths = new Map<string, string>();
    let expire: () => void = () => undefined;
    await page.routeWebSocket('**/wherry/watches', (near) => {
      const far = near.connectToServer();
      near.onMessage((text) => {
        const { start, path: watched } = JSON.parse(String(text));
        if (start) paths.set(start, watched);
        far.send(text);
      });
      let silent: string | undefined;
      far.onMessage((text) => JSON.parse(String(text)).id !== silent && near.send(text));
      expire = () => {
        [silent] = [...paths].find(([, watched]) => watched.startsWith(path))!;
        const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
        near.send(JSON.stringify({ id: silent, type: 'ERROR', object }));
        near.send(JSON.stringify({ id: silent, type: 'ENDED' }));
      };
    });
    await page.goto(`${cluster.url}/ui/list/configmaps?ns=${namespace}&q=old`);
    await page.getByLabel('Select old-00').check();
    await page.locator('.tablebox').evaluate((box) => {
      box.scrollTop = 900;
    });
    await page.locator('tr[data-name=old-40]').waitFor();
    const scrolled = () => page.locator('.tablebox').evaluate((box) => box.scrollTop);
    const before = await scrolled();
    const relisted = page.waitForResponse((answer) => new URL(answer.url()).pathname === path);
    expire();
    await relisted;
    await client.post(path, { metadata: { name: 'older' } });
    await page.locator('.count', { hasText: '61' }).waitFor();
    expect(await page.locator('.lost, .refusednow, .refusal').count()).toBe(0);
    expect(await scrolled()).toBe(before);
    await page.getByRole('button', { name: 'Delete 1' }).waitFor();
  });

  it('asks for a token on the secure door, and shows only what its user may see', async () => {
    const { client, cluster } = server;
    await client.post(configMaps, { metadata: { name: 'shown' } });
    await client.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'viewer' } });
    await client.post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', {
      metadata: { name: 'viewer' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
    });
    await client.post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      metadata: { name: 'viewer' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'viewer' },
      subjects: [{ kind: 'ServiceAccount', name: 'viewer', namespace: 'default' }],
    });
    const { body } = await client.post('/api/v1/namespaces/default/serviceaccounts/viewer/token', {
      spec: {},
    });
    const page = await browser.open(
      `${cluster.secureUrl}/ui/list/configmaps?ns=default`,
      { ignoreHTTPSErrors: true },
      /40[13]/,
    );
    await page.getByLabel('Token').fill('nonsense');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('does not know this token').waitFor();
    await page.getByLabel('Token').fill(body.status.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    // The user may delete nothing, so nothing can be selected.
    await expect.poll(() => cellsOf(page, 1)).toContain('shown');
    // Live over HTTP/2.
    await client.post(configMaps, { metadata: { name: 'shown-later' } });
    await expect.poll(() => cellsOf(page, 1)).toContain('shown-later');
    await page.goto(`${cluster.secureUrl}/ui/list/secrets?ns=default`);
    await page.getByText('Secrets cannot be shown.').waitFor();
    await page.goto(`${cluster.secureUrl}/`);
    // What the user may not see is not asked for.
    await page.getByText('Choose a namespace above: you may not see all of them.').waitFor();
    for (const name of ['Rolling out', 'Requests', 'Nodes'])
      expect(await page.getByRole('heading', { name }).count()).toBe(0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
  });

  it('needs no credentials for its own files on the secure door, and for nothing else', async () => {
    const status = (path: string) =>
      new Promise((resolve, reject) =>
        get(
          `${server.cluster.secureUrl}${path}`,
          { rejectUnauthorized: false, headers: { Accept: html } },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          },
        ).on('error', reject),
      );
    expect(await status('/ui/')).toBe(200);
    expect(await status('/')).toBe(200);
    expect(await status('/api/v1/namespaces/default/configmaps')).toBeGreaterThanOrEqual(401);
  });
});

describeWith('chromium')('a server that goes away', () => {
  const browser = useBrowser();
  /** More than the dashboard needs. */
  const watchersPerClientMax = 8;
  let cluster: Cluster;
  let port: number;
  const client = new ApiClient(() => cluster.url);
  beforeAll(async () => {
    [port] = (await freePorts(1)) as [number];
    cluster = await startBuilt({ port, limits: { watchersPerClientMax } });
  });
  afterAll(() => cluster?.close());

  it('is told from one that is busy: the dashboard says what the server says, and goes on by itself', async () => {
    const stop = new AbortController();
    const hold = () => fetch(`${cluster.url}${configMaps}?watch=true`, { signal: stop.signal });
    const held = await Promise.all(Array.from({ length: watchersPerClientMax }, hold));
    expect(held.map(({ status }) => status)).toEqual(held.map(() => 200));
    const page = await browser.open(`${cluster.url}/ui/list/configmaps?ns=default`, {}, /429|WebSocket/);
    await page.getByText('for now: this client has too many watches open').waitFor();
    expect(await page.getByText('The server does not answer.').count()).toBe(0);
    await client.post(configMaps, { metadata: { name: 'meanwhile' } });
    stop.abort();
    await page.getByText('The server refuses some requests for now').waitFor({ state: 'detached' });
    await expect.poll(() => cellsOf(page, 2)).toContain('meanwhile');
  });

  it('is noticed, and found again when it is back, with selection and scroll as they were', async () => {
    const many = Array.from({ length: 120 }, (_, i) => `item-${String(i).padStart(3, '0')}`);
    for (const name of many) await client.post(configMaps, { metadata: { name } });
    const page = await browser.open(
      `${cluster.url}/ui/list/configmaps?ns=default`,
      {},
      /ERR_(SOCKS_)?CONNECTION_(REFUSED|RESET|FAILED)|WebSocket|503|ERR_EMPTY_RESPONSE/,
    );
    await page.getByLabel('Select item-003').check();
    await page.locator('.tablebox').evaluate((box) => {
      box.scrollTop = 2_000;
    });
    await page.locator('tr[data-name=item-070]').waitFor();
    await cluster.close();
    await page.getByText('The server does not answer.').waitFor();
    await page.locator('tr[data-name=item-070]').waitFor();
    // Another server, in memory: it begins anew, with versions of its own.
    cluster = await startBuilt({ port });
    await client.post(configMaps, { metadata: { name: 'new' } });
    await page.getByText('The server does not answer.').waitFor({ state: 'detached' });
    await expect.poll(() => cellsOf(page, 2)).toContain('new');
    await client.post(configMaps, { metadata: { name: 'newer' } });
    await expect.poll(() => cellsOf(page, 2)).toContain('newer');
  });
});
