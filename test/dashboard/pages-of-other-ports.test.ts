/**
 * Proves that a page of another port of this machine, such as that of a pod behind a port-forward or the ingress, cannot
 * use the local door: it writes nothing, and reads nothing by a WebSocket, which no browser keeps from other origins.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { useBrowser, useBuiltCluster } from './browser.ts';

const built = useBuiltCluster({ simulatedNodes: 1 });
const browser = useBrowser();
const namespaces = '/api/v1/namespaces';

/** What a hostile page tries. Each attempt is told as it ended. */
const script = (door: string): string => `
  const tried = {};
  const attempt = (name, act) =>
    act().then((got) => { tried[name] = 'got ' + got; }, (error) => { tried[name] = error.name ?? error.type; });
  const opened = (path, protocols) => new Promise((resolve, reject) => {
    const socket = new WebSocket(${JSON.stringify(door.replace('http:', 'ws:'))} + path, protocols);
    socket.onopen = () => resolve('a connection');
    socket.onerror = reject;
  });
  const sent = (mode, type) => fetch(${JSON.stringify(door)} + '${namespaces}', {
    method: 'POST', mode, headers: { 'Content-Type': type }, body: '{"metadata":{"name":"made"}}',
  });
  Promise.all([
    attempt('a watch', () => opened('/api/v1/secrets?watch=true')),
    attempt('watches', () => opened('/wherry/watches', ['v1.watches.wherry'])),
    attempt('a command', () => opened('${namespaces}/default/pods/p/exec?command=id', ['v5.channel.k8s.io'])),
    attempt('a write with a question before', () => sent('cors', 'application/json')),
    sent('no-cors', 'text/plain').catch(() => {}),
  ]).then(() => { document.title = JSON.stringify(tried); });`;

describeWith('chromium')('a page of another port', () => {
  let server: Server;

  beforeAll(async () => {
    const page = `<!doctype html><title>trying</title><script>${script(built.cluster.url)}</script>`;
    server = createServer((_, response) =>
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(page),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it.each(['127.0.0.1', 'localhost'])('of %s gets nothing', async (host) => {
    const { port } = server.address() as AddressInfo;
    const opened = await browser.open(`http://${host}:${port}/`, {}, /.*/);
    await opened.waitForFunction("document.title.startsWith('{')");
    expect(JSON.parse(await opened.title())).toEqual({
      'a watch': 'error',
      watches: 'error',
      'a command': 'error',
      'a write with a question before': 'TypeError',
    });
    expect((await built.client.get(`${namespaces}/made`)).status).toBe(404);
  });
});
