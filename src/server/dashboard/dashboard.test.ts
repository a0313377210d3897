/**
 * Proves how files of the dashboard are sent: compressed to browsers that take it, plain to others, never from outside
 * the folder.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import type { RequestContext } from '../http/context.ts';
import { parseRequest } from '../http/request-info.ts';
import { Dashboard } from './dashboard.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-window-'));
const script = 'console.log(1)';
const compressed = brotliCompressSync(script);
writeFileSync(path.join(folder, 'main-ABCDEFGH.js.br'), compressed);
writeFileSync(path.join(folder, 'index.html'), '<script src="{{ui}}main.js" nonce="{{nonce}}"></script>');
afterAll(() => rmSync(folder, { recursive: true }));

const dashboard = new Dashboard(pathToFileURL(`${folder}/`));

async function ask(url: string, headers: Record<string, string> = {}, method = 'GET') {
  const sent = {
    code: 0,
    headers: {} as Record<string, string>,
    body: undefined as Buffer | string | undefined,
  };
  const context = {
    info: parseRequest(method, url),
    request: { headers, url },
    auditId: 'id',
    warnings: [],
    response: {
      writeHead: (code: number, fields: Record<string, string>) =>
        Object.assign(sent, { code, headers: fields }),
      end: (body?: Buffer) => {
        sent.body = body;
      },
    },
  } as unknown as RequestContext;
  await dashboard.answer(context);
  return sent;
}

it('/ui leads to /ui/, also where a proxy serves it below a prefix', async () => {
  for (const [asked, location] of [
    ['/ui', 'ui/'],
    ['/ui?ns=default', 'ui/?ns=default'],
  ] as const) {
    const { code, headers } = await ask(asked);
    expect([code, headers['Location']]).toEqual([301, location]);
    expect((await ask(`/${location}`)).code).toBe(200);
    expect(new URL(location, `http://proxy.example/prefix${asked}`).pathname).toBe('/prefix/ui/');
  }
});

it('the page is compressed for browsers that take it, with a nonce of its own', async () => {
  const br = { 'accept-encoding': 'gzip, br' };
  const [one, other, plain] = [await ask('/ui/', br), await ask('/ui/', br), await ask('/ui/')];
  expect([one.headers['Content-Encoding'], plain.headers['Content-Encoding']]).toEqual(['br', undefined]);
  const nonces = [
    brotliDecompressSync(one.body as Buffer),
    brotliDecompressSync(other.body as Buffer),
    plain.body,
  ].map((body) => /nonce="([\w-]+)"/.exec(String(body))![1]);
  expect(new Set(nonces).size).toBe(3);
  expect(one.headers['Content-Security-Policy']).toContain(nonces[0]);
  expect(Number(one.headers['Content-Length'])).toBe((one.body as Buffer).length);
});

it('the page names its files as seen from its own path, whatever prefix a proxy adds', async () => {
  for (const asked of [
    '/',
    '/?ns=a/b',
    '/ui/',
    '/ui/list',
    '/ui/list/',
    '/ui/list/pods?at=/1',
    '/ui/object/configmaps/default/a%2Fb',
    '/ui//list',
  ]) {
    const page = String((await ask(asked, { accept: 'text/html' })).body);
    const [, source = ''] = /src="([^"]*)"/.exec(page) ?? [];
    for (const prefix of ['', '/k8s-api', '/a/b/c'])
      expect(new URL(source, `http://proxy.example${prefix}${asked}`).pathname, asked).toBe(
        `${prefix}/ui/main.js`,
      );
  }
});

it('a path with a million folders is no page, which would name them with each of its files', async () => {
  for (const asked of [`/ui/${'/'.repeat(1_000_000)}`, `/ui${'/a'.repeat(100)}`]) {
    const { code, body } = await ask(asked);
    expect([code, String(body)]).toEqual([404, '404 page not found\n']);
  }
});

describe('a file of the dashboard', () => {
  it('is sent compressed, or plain to those who do not take that', async () => {
    const packed = await ask('/ui/main-ABCDEFGH.js', { 'accept-encoding': 'gzip, br' });
    expect(packed.headers).toMatchObject({
      'Content-Encoding': 'br',
      'Content-Length': String(compressed.length),
    });
    expect(packed.body).toEqual(compressed);
    const plain = await ask('/ui/main-ABCDEFGH.js', { 'accept-encoding': 'gzip' });
    expect(plain.headers['Content-Encoding']).toBeUndefined();
    expect(String(plain.body)).toBe(script);
    expect((await ask('/ui/main-ABCDEFGH.js', {}, 'HEAD')).body).toBeUndefined();
  });

  it.each([
    '/ui/../../etc/passwd',
    '/ui/%2e%2e/%2e%2e/etc/passwd',
    '/ui/main-ABCDEFGH.js.br',
    '/ui//etc/passwd',
  ])('%s is none: it is taken for a view', async (url) =>
    expect(String((await ask(url)).body)).toMatch(/^<script src="[./]+main\.js" nonce="[\w-]{22}">/),
  );
});

it('every page has a nonce of its own, which its policy names', async () => {
  const [one, other] = [await ask('/ui/'), await ask('/')];
  const nonce = /nonce="([\w-]+)"/.exec(String(one.body))![1]!;
  expect(one.headers['Content-Security-Policy']).toContain(`'nonce-${nonce}'`);
  expect(String(other.body)).not.toContain(nonce);
});
