/** Proves that input that is not HTTP gets a Status, the connection is closed, and the server continues. */
import { describe, expect, it } from 'vitest';
import { head, useTarget, webSocketHead } from '../support/target.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const target = useTarget();

const post = (...headers: string[]): string => head(`POST ${configMaps}`, ...headers);
const body = '{"metadata":{"name":"smuggled"}}';
const length = `Content-Length: ${body.length}`;

describe('malformed HTTP', () => {
  it.each([
    ['bytes', '\x00\x01\x02\xff\r\n\r\n'],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an SSH greeting', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a version to come', 'GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n'],
    ['an unknown method', 'BREW /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['a header without a colon', 'GET /healthz HTTP/1.1\r\nHost localhost\r\n\r\n'],
    ['a space before the colon', 'GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n'],
    ['a folded header', head('GET /healthz', 'X: a\r\n b')],
    ['a bare CR in a header', head('GET /healthz', 'Audit-Id: a\rX-Evil: 1')],
    ['NUL in a header', head('GET /healthz', 'X: a\x00b')],
    ['a space in the path', head('GET /health z')],
    ['two lengths', post('Content-Length: 2', length) + body],
    ['a length and chunks', post(length, 'Transfer-Encoding: chunked') + body],
    ['a negative length', post('Content-Length: -1') + body],
    ['a length in hex', post('Content-Length: 0x20') + body],
    ['a length without end', post(`Content-Length: ${'9'.repeat(30)}`) + body],
    ['a chunk that is none', `${post('Transfer-Encoding: chunked')}zz\r\n${body}\r\n0\r\n\r\n`],
    ['a chunk that is too short', `${post('Transfer-Encoding: chunked')}5\r\n${body}\r\n0\r\n\r\n`],
    ['a chunk without end', `${post('Transfer-Encoding: chunked')}ffffffffffffffffff\r\n${body}`],
  ])('may be %s', async (_what, bytes) => {
    await target.refusesBytes(bytes, 400, /the request is not valid HTTP/);
  });

  // HTTP allows it; Node 20 refuses it, later versions read the length before it.
  it('may be a tab behind the length, which never makes two requests of one', async () => {
    const bytes = post(`${length}\t`) + body;
    const replies = await target.exchange(bytes, true);
    expect(replies).toHaveLength(1);
    if (replies[0]!.status === 400) return target.refusesBytes(bytes, 400, /the request is not valid HTTP/);
    expect(replies[0]).toMatchObject({ status: 200, body: { metadata: { name: 'smuggled' } } });
    const [gone] = await target.exchange(head(`DELETE ${configMaps}/smuggled`), true);
    expect(gone!.status).toBe(200);
  });

  it('may end before the body does', async () => {
    await target.refusesBytes(post('Content-Length: 100') + body, 400, /ended before its body/, true);
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
    await target.refusesBytes(post('Transfer-Encoding: chunked') + chunk, 400, /ended before its body/, true);
  });

  it('may come from a client that goes away in the middle of its body', async () => {
    const before = await target.version();
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = target.dial();
        await new Promise<void>((resolve) =>
          socket.write(post('Content-Length: 100') + body, () => resolve()),
        );
        socket.destroy();
      }),
    );
    await target.unharmed(before);
  });

  it('may have a header of more than 1 MiB', async () => {
    const says = /header is larger than 1048576 bytes/;
    await target.refusesBytes(head('GET /healthz', `X: ${'a'.repeat(1024 * 1024)}`), 431, says);
    await target.refusesBytes(head(`GET /${'a'.repeat(1024 * 1024)}`), 431, says);
    const many = Array.from({ length: 100_000 }, (_, i) => `X-${i}: aaaaaaaaaa`);
    await target.refusesBytes(head('GET /healthz', ...many), 431, says);
  });

  it('may have 1,900 headers, and no more than 2,000', async () => {
    const many = Array.from({ length: 1_900 }, (_, i) => `X-${i}: a`);
    const [reply] = await target.exchange(head('GET /healthz', 'Connection: close', ...many));
    expect(reply).toMatchObject({ status: 200, body: 'ok' });
    // All headers are read, including the last, which names a foreign host.
    const elsewhere = `GET /healthz HTTP/1.1\r\nConnection: close\r\n${many.join('\r\n')}\r\nHost: evil.example\r\n\r\n`;
    await target.refusesBytes(elsewhere, 403, /local clients only/);
    for (const count of [2_000, 20_000])
      await target.refusesBytes(
        head('GET /healthz', 'Connection: close', ...Array.from({ length: count }, (_, i) => `X-${i}: a`)),
        431,
        /more than 2000 header lines/,
      );
  });
});

describe('methods', () => {
  it.each(['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'LOCK', 'PURGE', 'M-SEARCH', 'POST', 'PATCH'])(
    '%s is refused where it means nothing',
    async (method) => {
      const before = await target.version();
      for (const path of [configMaps, `${configMaps}/a`, '/api', '/api/v1', '/version', '/healthz']) {
        if ((path === configMaps && method === 'POST') || (path.endsWith('/a') && method === 'PATCH'))
          continue;
        const reply = await target.request(method, path);
        if (path === '/healthz' && method === 'HEAD') expect(reply.status).toBe(200);
        else expect([404, 405]).toContain(reply.status);
        if (method === 'HEAD') expect(reply.text).toBe('');
      }
      await target.unharmed(before);
    },
  );

  it('CONNECT opens no tunnel', async () => {
    await target.refusesBytes(head('CONNECT evil.example:443'), 405, /does not allow this method/);
  });

  it('forms of a target that are no path lead nowhere', async () => {
    for (const line of [
      'OPTIONS *',
      'GET http://localhost/healthz',
      'GET //healthz',
      'GET /../healthz',
      'GET ?watch',
    ]) {
      const [reply] = await target.exchange(head(line, 'Connection: close'));
      expect(reply!.status, line).toBeGreaterThanOrEqual(line.endsWith('?watch') ? 200 : 400);
      expect(reply!.status, line).toBeLessThan(500);
    }
  });

  it('an expectation that cannot be met is refused, one that can is met', async () => {
    const before = await target.version();
    const [reply] = await target.exchange(post('Expect: a-miracle', 'Connection: close', length) + body);
    expect(reply).toMatchObject({ status: 417, body: { kind: 'Status', code: 417 } });
    await target.unharmed(before);
    await target.refusesBytes(
      `${post('Expect: 100-continue', 'Connection: close', 'Content-Length: 1')}{`,
      400,
    );
  });
});

describe('the local door', () => {
  const hosts = [
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example:8080',
    '10.0.0.2',
  ];
  hosts.push(
    'localhost,evil.example',
    '[::2]',
    '0.0.0.0',
    '127.1',
    '2130706433',
    'kubernetes.evil.example',
    'kubernetes.default.svc.cluster.local.evil.example',
  );

  it.each(hosts)('is closed to host %j', async (Host) => {
    for (const path of ['/healthz', configMaps])
      await target.refuses(
        () => target.request('GET', path, undefined, { Host }),
        403,
        /serves local clients only/,
      );
    await target.refuses(() => target.post(configMaps, body, { Host }), 403, /serves local clients only/);
  });

  it.each(['127.0.0.1@evil.example', 'localhost, evil.example', 'localhost#'])(
    'takes %j for no host',
    async (Host) => {
      const before = await target.version();
      const { status, text } = await target.post(configMaps, body, { Host });
      expect([status, text]).toEqual([400, '400 Bad Request: malformed Host header']);
      await target.unharmed(before);
    },
  );

  it('is closed to those who name no host', async () => {
    const before = await target.version();
    const [reply, ...others] = await target.exchange('GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect([reply!.status, others]).toEqual([400, []]);
    await target.unharmed(before);
    await target.refusesBytes('GET /healthz HTTP/1.0\r\n\r\n', 403, /local clients only/);
    const empty = 'GET /healthz HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n';
    await target.refusesBytes(empty, 403, /local clients only/);
  });

  const origins = [
    'http://evil.example',
    'https://localhost.evil.example',
    'null',
    'file://',
    'x',
    'http://127.0.0.1@evil.example',
  ];

  it.each(origins)('is closed to pages of %j', async (Origin) => {
    await target.refuses(() => target.get('/healthz', { Origin }), 403, /serves local pages only/);
    await target.refuses(() => target.post(configMaps, body, { Origin }), 403, /serves local pages only/);
    const upgrade = webSocketHead(`${configMaps}?watch=1`, `Origin: ${Origin}`);
    await target.refusesBytes(upgrade, 403, /serves local pages only/);
  });

  it('is open to this machine, by all its names', async () => {
    for (const Host of [
      'localhost',
      'LOCALHOST:8080',
      '127.0.0.1',
      '127.8.9.10:1',
      '[::1]:8080',
      'a.localhost',
    ])
      expect((await target.get('/healthz', { Host })).text).toBe('ok');
    for (const Host of ['localhost:8080', '[::1]:8080', 'a.localhost'])
      expect((await target.get('/healthz', { Host, Origin: `http://${Host}` })).text).toBe('ok');
  });
});

describe('headers of an answer', () => {
  it('carry the Audit-Id of the request as it was sent', async () => {
    for (const id of ['a b', '"', 'ü', 'a'.repeat(65), '<script>', 'a, b', 'abc-123']) {
      const reply = await target.get(configMaps, { 'Audit-Id': id });
      expect(reply.headers['audit-id']).toBe(id);
      expect(reply.status).toBe(200);
    }
  });

  it('carry warnings about any field name, as one header each', async () => {
    const name = 'a\r\nX-Evil: 1\u0000\u007f\u0085\u2028é😀"\\\ud800';
    const reply = await target.post(`${configMaps}?dryRun=All`, { metadata: { name: 'new' }, [name]: 1 });
    expect(reply.status).toBe(200);
    expect(reply.headers['x-evil']).toBeUndefined();
    expect(reply.warnings).toHaveLength(1);
    const text = Buffer.from(reply.warnings[0]!, 'latin1').toString('utf8');
    expect(text).toMatch(/^"unknown field \\"a {2}X-Evil: 1 {2}.*é😀\\"\\\\\ufffd\\""$/su);
  });

  it('carry a bounded number of warnings', async () => {
    const unknown = (count: number, name: (i: number) => string) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [name(i), 1]));
    for (const fields of [
      unknown(50_000, (i) => `unknown${i}`),
      unknown(1_000, (i) => `${i}${'😀'.repeat(500)}`),
      unknown(1, () => 'x'.repeat(2_000_000)),
    ]) {
      const reply = await target.post(`${configMaps}?dryRun=All`, { metadata: { name: 'new' }, ...fields });
      expect(reply.status).toBe(200);
      expect(reply.warnings.length).toBeGreaterThan(0);
      expect(reply.warnings.join('').length).toBeLessThan(20_000);
    }
  });
});
