/**
 * Proves that a page of a pod that is opened through the proxy cannot use the origin of the dashboard: it reads no
 * secrets, sees nothing that the dashboard stores, and installs no service worker.
 */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useBrowser, useBuiltCluster } from './browser.ts';

/** An address of this machine that the server dials for pods. */
const address = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(
    ({ family, internal, address: ip }) => family === 'IPv4' && !internal && !ip.startsWith('169.254.'),
  )?.address;

/** What a hostile page tries. Each attempt is told as it ended. */
const script = `
  const tried = {};
  const attempt = (name, act) =>
    Promise.resolve().then(act).then((got) => { tried[name] = 'got ' + got; }, (error) => { tried[name] = error.name; });
  const text = (path, options) => fetch(path, options).then((answer) => answer.text());
  Promise.all([
    attempt('secrets', () => text('/api/v1/secrets')),
    attempt('own path', () => text('data')),
    attempt('write', () => text('/api/v1/namespaces', { method: 'POST', body: '{"metadata":{"name":"made"}}' })),
    attempt('worker', () => navigator.serviceWorker.register('sw.js', { scope: '/' })),
    attempt('own worker', () => navigator.serviceWorker.register('sw.js')),
    attempt('storage', () => localStorage.length),
    attempt('cookies', () => document.cookie),
  ]).then(() => { document.title = JSON.stringify(tried); });`;

const page = `<!doctype html><title>trying</title><script>${script}</script>`;

const target = createServer((request, response) => {
  const headers = {
    'Service-Worker-Allowed': '/',
    'Access-Control-Allow-Origin': '*',
    'Clear-Site-Data': '"*"',
  };
  if (request.url!.endsWith('sw.js'))
    response
      .writeHead(200, { ...headers, 'Content-Type': 'text/javascript' })
      .end('self.onfetch = () => {};');
  else response.writeHead(200, { ...headers, 'Content-Type': 'text/html' }).end(page);
});

/** Whether a server of another test has a door at this port of another address: nothing is proxied to such a port. */
const isDoorElsewhere = (port: number): boolean =>
  existsSync('/proc/net/unix') && readFileSync('/proc/net/unix', 'latin1').includes(` @wherry/door/${port}/`);

describe.skipIf(!address /* pods are dialled at addresses other than loopback only */)(
  'a proxied page',
  () => {
    const built = useBuiltCluster();
    const browser = useBrowser();
    let port = 0;

    beforeAll(async () => {
      do {
        target.close().listen(0, address);
        await once(target, 'listening');
        port = (target.address() as AddressInfo).port;
      } while (isDoorElsewhere(port));
      const containers = [{ name: 'c', image: 'i', ports: [{ containerPort: port }] }];
      await built.client.post('/api/v1/namespaces/default/pods', {
        metadata: { name: 'hostile' },
        spec: { containers, nodeName: 'nowhere' },
      });
      await built.client.patch('/api/v1/namespaces/default/pods/hostile/status', {
        status: { podIP: address, podIPs: [{ ip: address }] },
      });
    });
    afterAll(() => {
      target.closeAllConnections();
      target.close();
    });

    it.each([
      ['of a pod', () => `/api/v1/namespaces/default/pods/hostile:${port}/proxy/`],
      ['by the path of Kubernetes 1.1', () => `/api/v1/proxy/namespaces/default/pods/hostile:${port}/`],
    ])('%s runs, and gets nothing', async (_what, path) => {
      const url = `${built.cluster.url}${path()}`;
      // A refusal says why; the page alone would be waited for.
      await expect.poll(async () => (await fetch(url)).text()).toBe(page);
      const opened = await browser.open(url, {}, /.*/);
      await opened.waitForFunction("document.title.startsWith('{')");
      expect(JSON.parse(await opened.title())).toEqual({
        secrets: 'TypeError',
        'own path': 'TypeError',
        write: 'TypeError',
        worker: 'SecurityError',
        'own worker': 'SecurityError',
        storage: 'SecurityError',
        cookies: 'SecurityError',
      });
      expect((await built.client.get('/api/v1/namespaces/made')).status).toBe(404);
    });
  },
);
