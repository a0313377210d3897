/** Calls of webhooks: what is sent, and what is made of answers that are late, huge, broken or missing. */

import type { AddressInfo } from 'node:net';
import { createServer, connect as netConnect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { HookClient } from './hook-client.ts';
import { HookHost } from './hook-host.fixture.ts';

const host = new HookHost(['127.0.0.1', 'localhost', 'checks.team.svc']);
const review = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: {} });
const longMs = 30_000;

describe('a webhook', () => {
  const client = new HookClient(async (namespace, name, port) => {
    if (name !== 'checks') throw new Error(`service ${JSON.stringify(name)} not found`);
    expect([namespace, port]).toEqual(['team', 443]);
    return netConnect(host.port, '127.0.0.1');
  });
  beforeAll(() => host.start());
  afterAll(async () => {
    client.close();
    await host.close();
  });
  afterEach(() => host.take());

  const call = (path: string, timeoutMs = longMs, caBundle = host.ca) =>
    client.call({ url: `${host.url}${path}`, caBundle }, review, timeoutMs);
  const failure = (path: string, timeoutMs?: number, caBundle?: string): Promise<string> =>
    call(path, timeoutMs, caBundle).then(
      () => 'no failure',
      (error: Error) => error.message,
    );

  it('is asked with a POST of JSON, and the time it has', async () => {
    host.hooks.set('/fine', { allowed: true });
    expect(await call('/fine', 29_500)).toMatchObject({ response: { allowed: true } });
    expect(host.take()).toEqual([
      {
        hook: '/fine',
        query: 'timeout=30s',
        method: 'POST',
        contentType: 'application/json',
        accept: 'application/json, */*',
        review: JSON.parse(review),
      },
    ]);
  });

  it('is reached through a service, by whose name its certificate is verified', async () => {
    host.hooks.set('/by/service', { allowed: true });
    const service = { namespace: 'team', name: 'checks', path: '/by/service', port: 443 };
    expect(await client.call({ service, caBundle: host.ca }, review, longMs)).toMatchObject({
      response: { allowed: true },
    });
    await expect(client.call({ service: { ...service, name: 'nobody' } }, review, 10_000)).rejects.toThrow(
      'Post "https://nobody.team.svc:443/by/service?timeout=10s": service "nobody" not found',
    );
  });

  it('is trusted by its own certificate, as test harnesses name it in place of the authority', async () => {
    host.hooks.set('/leaf', { allowed: true });
    expect(await call('/leaf', longMs, host.leaf)).toMatchObject({ response: { allowed: true } });
    const other = new HookHost();
    expect(await failure('/leaf', longMs, other.leaf)).toContain('certificate signed by unknown authority');
  });

  it('is trusted when its authority has the same name as itself, which OpenSSL takes for self-signed', async () => {
    const same = new HookHost(['127.0.0.1', 'checks.team.svc'], Date.now(), 'hooks');
    await same.start();
    same.hooks.set('/same', { allowed: true });
    const bySame = new HookClient(async () => netConnect(same.port, '127.0.0.1'));
    const service = { namespace: 'team', name: 'checks', path: '/same', port: 443 };
    const url = `${same.url}/same`;
    const answer = { response: { allowed: true } };
    expect(await bySame.call({ url, caBundle: same.ca }, review, longMs)).toMatchObject(answer);
    expect(await bySame.call({ service, caBundle: same.ca }, review, longMs)).toMatchObject(answer);
    same.take();
    const unknown = 'certificate signed by unknown authority';
    const stranger = new HookHost(['127.0.0.1'], Date.now(), 'hooks');
    await expect(bySame.call({ url, caBundle: stranger.ca }, review, longMs)).rejects.toThrow(unknown);
    await expect(bySame.call({ service, caBundle: stranger.ca }, review, longMs)).rejects.toThrow(unknown);
    // Nothing reaches a server that is not trusted.
    expect(same.take()).toEqual([]);
    bySame.close();
    await same.close();
  });

  it.each([
    ['//clean', '/clean'],
    ['/./clean//', '/clean'],
    ['/a/../clean/', '/clean'],
    ['/a/%2e%2e/clean', '/clean'],
    ['/../clean', '/clean'],
    ['', '/'],
    ['//', '/'],
    ['/a b/(c)', '/a%20b/%28c%29'],
    ['/a%2Fb/%7Ec/%C3%A9', '/a/b/~c/%C3%A9'],
  ])('at the path %s is asked at %s', async (path, asked) => {
    host.hooks.set(asked, { allowed: true });
    expect(await call(path)).toMatchObject({ response: { allowed: true } });
    const service = { namespace: 'team', name: 'checks', path: decodeURIComponent(path), port: 443 };
    await client.call({ service, caBundle: host.ca }, review, longMs);
    expect(host.take().map(({ hook }) => hook)).toEqual([asked, asked]);
  });

  it.each([
    ['no JSON', { raw: 'not json at all' }, /^couldn't get version\/kind; json parse error: /],
    ['a list', { raw: '[]' }, /^couldn't get version\/kind; json parse error: /],
    ['nothing', { raw: '' }, /^couldn't get version\/kind; json parse error: /],
    [
      'an error of JSON type',
      { raw: 'oh no', httpStatus: 500 },
      'an error on the server ("unknown") has prevented the request from succeeding',
    ],
    [
      'an error of text type',
      { raw: 'oh "no"', httpStatus: 502, contentType: 'text/plain' },
      'an error on the server ("oh \\"no\\"") has prevented the request from succeeding',
    ],
    ['a Status', { raw: '{"kind":"Status","message":"nope"}', httpStatus: 404 }, 'nope'],
    [
      'a redirect',
      { raw: '', httpStatus: 302, headers: { Location: '/fine' } },
      'the server responded with the status code 302 but did not return more information',
    ],
    [
      'too many requests',
      { raw: '', httpStatus: 429 },
      'the server has received too many requests and has asked us to try again later',
    ],
  ])('that answers with %s has failed', async (_name, behaviour, text) => {
    host.hooks.set('/odd', behaviour);
    expect(await failure('/odd')).toMatch(text);
    expect(host.take()).toHaveLength(1);
  });

  it('that is not there has failed', async () => {
    expect(await failure('/nothing')).toBe('the server could not find the requested resource');
  });

  it('that is slow has failed when its time is over', async () => {
    host.hooks.set('/slow', { answer: () => undefined });
    const url = `${host.url}/slow?timeout=1s`;
    expect(await failure('/slow', 50)).toBe(`Post "${url}": context deadline exceeded`);
    host.hooks.set('/slow', { answer: (_, response) => void response.write('{"a":') });
    expect(await failure('/slow', 500)).toBe(`Post "${url}": context deadline exceeded`);
  });

  it('that never stops talking is cut off', async () => {
    const piece = Buffer.alloc(1024 * 1024, ' ');
    host.hooks.set('/huge', {
      answer: (_, response) => {
        const more = (): void => {
          while (!response.destroyed && response.write(piece));
          if (!response.destroyed) response.once('drain', more);
        };
        more();
      },
    });
    expect(await failure('/huge')).toMatch('response body too large');
  });

  it('that says again and again that it will answer is cut off', async () => {
    host.hooks.set('/soon', {
      answer: (_, response) => void response.socket!.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000)),
    });
    expect(await failure('/soon')).toMatch('too many 1xx informational responses');
  });

  it('that cuts the connection has failed', async () => {
    host.hooks.set('/cut', { answer: (request) => void request.socket.destroy() });
    expect(await failure('/cut')).toBe(`Post "${host.url}/cut?timeout=30s": EOF`);
  });

  it('is called again when a kept connection has gone meanwhile', async () => {
    let calls = 0;
    host.hooks.set('/once', {
      answer: (request, response) => {
        if (++calls === 2) request.socket.destroy();
        else response.end('{"calls":1}');
      },
    });
    await call('/once');
    expect(await call('/once')).toEqual({ calls: 1 });
    expect(calls).toBe(3);
  });

  it('must have a certificate of its authority, for its name', async () => {
    const other = new HookHost(['somewhere.example']);
    await other.start();
    const post = `Post "${host.url}/fine?timeout=30s"`;
    expect(await failure('/fine', longMs, other.ca)).toBe(
      `${post}: tls: failed to verify certificate: x509: certificate signed by unknown authority`,
    );
    expect(await failure('/fine', longMs, '')).toMatch('x509: certificate signed by unknown authority');
    await expect(client.call({ url: `${other.url}/`, caBundle: other.ca }, review, longMs)).rejects.toThrow(
      'x509: certificate is valid for somewhere.example, not 127.0.0.1',
    );
    await other.close();
  });

  it('that does not listen, or speaks something else, has failed', async () => {
    const server = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const url = `https://127.0.0.1:${port}/x`;
    await expect(client.call({ url }, review, longMs)).rejects.toThrow(
      'http: server gave HTTP response to HTTPS client',
    );
    await new Promise((resolve) => server.close(resolve));
    await expect(client.call({ url }, review, longMs)).rejects.toThrow(
      `Post "${url}?timeout=30s": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
  });

  it('gets no more than 64 calls at once', async () => {
    let open = 0;
    let most = 0;
    host.hooks.set('/many', {
      answer: (_, response) => {
        most = Math.max(most, ++open);
        setImmediate(() => {
          open--;
          response.end('{}');
        });
      },
    });
    await Promise.all(Array.from({ length: 200 }, () => call('/many')));
    expect(most).toBeLessThanOrEqual(64);
    expect(host.take()).toHaveLength(200);
  });
});
