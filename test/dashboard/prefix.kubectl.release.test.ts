/**
 * Proves that the dashboard works below a prefix: of `kubectl proxy --api-prefix`, and of a proxy that adds a longer one.
 * Files, requests, watches, links and addresses of views all keep it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { kubectls } from '../kubectl/programs.ts';
import { describeWith } from '../support/tools.ts';
import { cellsOf, useBrowser, useBuiltCluster } from './browser.ts';
import { configMaps } from './workloads.ts';

const built = useBuiltCluster({ simulatedNodes: 1 });
const browser = useBrowser();

/** Goes through the views below an address that ends with the prefix. */
async function walkThrough(address: string): Promise<void> {
  const prefix = new URL(address).pathname;
  const asked: string[] = [];
  await built.client.delete(configMaps);
  const page = await browser.open(`${address}/`);
  page.on('request', (one) => asked.push(new URL(one.url()).pathname));
  page.on('websocket', (one) => asked.push(new URL(one.url()).pathname));
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByText('1 of 1 ready').waitFor();
  await page.goto(`${address}/ui`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`${prefix}/ui/`);
  await page.goto(`${address}/ui/list/configmaps?ns=default`);
  await page.getByText('There are no').waitFor();
  await built.client.post(configMaps, { metadata: { name: 'seen' }, data: { key: 'value' } });
  await expect.poll(() => cellsOf(page, 2)).toEqual(['seen']);
  await page.getByRole('link', { name: 'seen' }).click();
  await page.getByRole('heading', { name: 'seen' }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`${prefix}/ui/object/configmaps/default/seen`);
  await page.reload();
  await page.getByRole('tab', { name: 'YAML' }).click();
  await page.locator('.cm-content', { hasText: 'value' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'seen' }).waitFor();
  expect(asked.filter((path) => !path.startsWith(`${prefix}/`))).toEqual([]);
  expect(asked).toContain(`${prefix}/wherry/watches`);
}

describeWith('chromium')('the dashboard', () => {
  describeWith('kubectl')('behind kubectl proxy', () => {
    it.each([
      [['--api-prefix=/k8s-api'], '/k8s-api'],
      [['--api-prefix=/deep/er/', '--www=.', '--www-prefix=/static/'], '/deep/er'],
    ])('%j works', async (flags, prefix) => {
      const args = [`--server=${built.cluster.url}`, 'proxy', '--port=0', ...flags];
      const command = spawn(kubectls[0]!.program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
      onTestFinished(() => void command.kill());
      const [line] = await once(command.stdout.setEncoding('utf8'), 'data');
      const [, address] = /Starting to serve on (\S+)/.exec(line as string)!;
      await walkThrough(`http://${address}${prefix}`);
    });
  });

  it('works behind a proxy that takes a prefix of several folders away', async () => {
    const prefix = '/clusters/one';
    const { hostname, port } = new URL(built.cluster.url);
    const proxy = createServer((asked, answer) => {
      const { method, headers, url = '' } = asked;
      if (!url.startsWith(`${prefix}/`)) return void answer.writeHead(404).end();
      const sent = request({ hostname, port, method, headers, path: url.slice(prefix.length) }, (got) => {
        answer.writeHead(got.statusCode!, got.headers);
        got.pipe(answer);
      });
      sent.on('error', () => answer.destroy());
      asked.pipe(sent);
    });
    const sockets = new Set<Socket>();
    proxy.on('upgrade', (asked, socket: Socket, head) => {
      const target = connect(Number(port), hostname);
      for (const one of [socket, target]) sockets.add(one.on('error', () => undefined));
      const lines = asked.rawHeaders.flatMap((text, i) =>
        i % 2 ? [] : [`${text}: ${asked.rawHeaders[i + 1]}`],
      );
      target.write([`GET ${asked.url!.slice(prefix.length)} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
      target.write(head);
      socket.pipe(target).pipe(socket);
    });
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      proxy.closeAllConnections();
      proxy.close();
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    await walkThrough(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`);
  });
});
