/**
 * Proves that pages of other sites get nothing from the local door, also by requests in which browsers name no origin:
 * images, scripts, forms, frames and links. And that every answer forbids them to embed it.
 */
import { describe, expect, it } from 'vitest';
import { head, useTarget, webSocketHead } from '../support/target.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const crossSite = { 'Sec-Fetch-Site': 'cross-site' };
const image = { ...crossSite, 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'image' };
const link = {
  ...crossSite,
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Dest': 'document',
  'Sec-Fetch-User': '?1',
};
const target = useTarget();

describe('requests of pages of other sites', () => {
  it('are refused without an origin, too', async () => {
    const says = /serves its own pages only/;
    await target.refuses(() => target.get('/healthz', image), 403, says);
    await target.refuses(() => target.get(configMaps, crossSite), 403, says);
    const body = { metadata: { name: 'smuggled' } };
    await target.refuses(
      () => target.post(configMaps, body, { ...link, 'Sec-Fetch-Site': 'cross-site' }),
      403,
      says,
    );
    await target.refusesBytes(
      webSocketHead(`${configMaps}?watch=1`, 'Sec-Fetch-Site: cross-site'),
      403,
      says,
    );
    await target.refusesBytes(
      head(`GET ${configMaps}?watch=1`, 'Sec-Fetch-Site: cross-site', 'Connection: close'),
      403,
      says,
    );
  });

  it('are let in when a person follows a link to what is only read', async () => {
    expect((await target.get('/api/v1/namespaces', link)).status).toBe(200);
  });

  it.each([
    ['from a script', { 'Sec-Fetch-User': '' }],
    ['in a frame', { 'Sec-Fetch-Dest': 'iframe' }],
    ['as an object', { 'Sec-Fetch-Dest': 'object' }],
    ['without leaving the page', { 'Sec-Fetch-Mode': 'no-cors' }],
  ])('are no followed link %s', async (_how, more) => {
    await target.refuses(() => target.get('/api/v1/namespaces', { ...link, ...more }), 403, /other sites/);
  });

  it('do not follow links into pods, services and nodes, where a GET may do anything', async () => {
    for (const path of ['pods/p/proxy/', 'services/s/proxy/delete', 'pods/p/log', 'pods/p/exec?command=ls'])
      await target.refuses(() => target.get(`/api/v1/namespaces/default/${path}`, link), 403, /other sites/);
  });

  it('are told from those of its own pages, and of no page at all', async () => {
    for (const site of ['same-origin', 'none'])
      expect((await target.get('/healthz', { ...image, 'Sec-Fetch-Site': site })).text).toBe('ok');
  });

  it('are those of other ports of this machine, too', async () => {
    const says = /serves its own pages only/;
    // A browser calls other ports of the same host the same site, and `localhost` and `127.0.0.1` two sites.
    const origin = { Origin: 'http://localhost:3000' };
    for (const more of [
      { 'Sec-Fetch-Site': 'same-site' },
      { ...origin, 'Sec-Fetch-Site': 'same-site' },
      { ...origin, ...crossSite },
      origin,
    ]) {
      await target.refuses(() => target.get('/healthz', more), 403, says);
      await target.refuses(() => target.post(configMaps, { metadata: { name: 'm' } }, more), 403, says);
    }
    const upgrade = webSocketHead(`${configMaps}?watch=1`, `Origin: ${origin.Origin}`);
    await target.refusesBytes(upgrade, 403, says);
    expect((await target.get('/healthz', { ...origin, 'X-Forwarded-For': '127.0.0.1' })).text).toBe('ok');
  });
});

describe('every answer', () => {
  const guards = { 'x-content-type-options': 'nosniff', 'cross-origin-resource-policy': 'same-origin' };
  const guarded = (headers: ReadonlyMap<string, string>): Record<string, string | undefined> =>
    Object.fromEntries(Object.keys(guards).map((name) => [name, headers.get(name)]));

  it.each([
    ['an object', `GET /api/v1/namespaces/default`],
    ['a list', 'GET /api/v1/namespaces'],
    ['YAML', 'GET /api/v1/namespaces', 'Accept: application/yaml'],
    ['text', 'GET /healthz'],
    ['a page', 'GET /'],
    ['metrics', 'GET /metrics'],
    ['discovery', 'GET /apis'],
    ['a document', 'GET /openapi/v3'],
    ['a redirect', 'GET /openapi/v3/api/v1?hash=0'],
    ['nothing', 'GET /nope'],
    ['a method', `BREW /`],
    ['a tunnel', 'CONNECT /'],
    ['a watch', `GET ${configMaps}?watch=1&timeoutSeconds=1`],
    ['a proxy without a target', 'GET /api/v1/namespaces/default/services/s/proxy/'],
    ['an expectation', 'GET /healthz', 'Expect: a-miracle'],
  ])('to a request for %s forbids other sites to embed it', async (_what, line, ...headers) => {
    for (const connection of ['Connection: keep-alive', 'Connection: close']) {
      const socket = target.dial();
      socket.write(head(line, connection, ...headers));
      const [bytes] = await new Promise<Buffer[]>((resolve) =>
        socket.once('data', (chunk) => resolve([chunk])),
      );
      socket.destroy();
      const lines = bytes!.toString('latin1').split('\r\n\r\n')[0]!.split('\r\n').slice(1);
      const seen = new Map(lines.map((text) => text.toLowerCase().split(': ') as [string, string]));
      expect(guarded(seen), bytes!.toString('latin1')).toEqual(guards);
      expect(
        lines.filter((text) => /^(x-content-type-options|cross-origin-resource-policy):/i.test(text)),
      ).toHaveLength(2);
    }
  });

  it('to an upgrade forbids it, whether it is granted or refused', async () => {
    for (const path of [`${configMaps}?watch=1`, '/healthz']) {
      const socket = target.dial();
      socket.write(webSocketHead(path));
      const bytes = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
      socket.destroy();
      const lines = bytes.toString('latin1').split('\r\n\r\n')[0]!.split('\r\n').slice(1);
      const seen = new Map(lines.map((text) => text.toLowerCase().split(': ') as [string, string]));
      expect(guarded(seen), bytes.toString('latin1')).toEqual(guards);
    }
  });
});
