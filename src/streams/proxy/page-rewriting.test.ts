/** Pages through the proxy: which are rewritten, and which pass unchanged. Streaming contract, 5.6. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { deflateRawSync, deflateSync, gunzipSync, gzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { pageBytesMax } from './page-rewriting.ts';
import { ask, prefix, proxyTo, serve } from './reverse-proxy.fixture.ts';

const page = '<html><a href="/x">x</a></html>';
const rewritten = `<html><a href="${prefix}/x">x</a></html>`;

async function shown(headers: Record<string, string>, body: Buffer | string, options = {}) {
  const target = await serve((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html', ...headers });
    response.end(body);
  });
  return ask((await proxyTo(target)).port, options);
}

const length = (body: Buffer | string) => ({ 'Content-Length': String(Buffer.byteLength(body)) });

describe('pages', () => {
  for (const type of ['text/html', 'text/html; charset=utf-8', 'TEXT/HTML ;x'])
    it(`are rewritten when they are ${type}`, async () => {
      // Proves which content types are rewritten, and that the length is adjusted.
      const reply = await shown({ 'Content-Type': type, ...length(page) }, page);
      expect(reply.body.toString()).toBe(rewritten);
      expect(reply.headers['content-length']).toBe(String(rewritten.length));
    });

  for (const type of ['text/plain', 'text/html2', 'application/xhtml+xml', ''])
    it(`pass when they are ${type || 'nothing'}`, async () => {
      // Proves that other types are left alone.
      const reply = await shown({ 'Content-Type': type, ...length(page) }, page);
      expect(reply.body.toString()).toBe(page);
      expect(reply.headers['content-length']).toBe(String(page.length));
    });

  it('of unknown length get one', async () => {
    // Proves that a chunked page is rewritten, too.
    const reply = await shown({}, page);
    expect(reply.body.toString()).toBe(rewritten);
    expect(reply.headers['content-length']).toBe(String(rewritten.length));
    expect(reply.headers['transfer-encoding']).toBeUndefined();
  });

  for (const [encoding, pack, unpack] of [
    ['gzip', gzipSync, gunzipSync],
    ['deflate', deflateRawSync, inflateRawSync],
    ['deflate', deflateSync, inflateSync],
    ['GZIP', gzipSync, gunzipSync],
  ] as const)
    it(`are rewritten inside ${encoding} (${pack.name})`, async () => {
      // Proves that a compressed page is compressed the same way again.
      const packed = pack(page);
      const reply = await shown({ 'Content-Encoding': encoding, ...length(packed) }, packed);
      expect(unpack(reply.body).toString()).toBe(rewritten);
      expect(reply.headers['content-encoding']).toBe(encoding);
      expect(reply.headers['content-length']).toBe(String(reply.body.length));
    });

  for (const [what, encoding, body] of [
    ['in an encoding that is not understood', 'br', Buffer.from(page)],
    ['in two encodings', 'gzip, gzip', gzipSync(gzipSync(page))],
    ['that only claim to be packed', 'gzip', Buffer.from(page)],
    ['that are packed badly', 'deflate', Buffer.from('\xff\xff', 'latin1')],
    ['that break off when unpacked', 'gzip', gzipSync(page).subarray(0, 20)],
    ['that unpack without measure', 'gzip', gzipSync(Buffer.alloc(pageBytesMax + 1, page))],
  ] as const)
    it(`pass ${what}`, async () => {
      // Proves that a page that cannot be rewritten arrives byte for byte.
      const reply = await shown({ 'Content-Encoding': encoding, ...length(body) }, body);
      expect(reply.body.equals(body)).toBe(true);
      expect(reply.headers['content-length']).toBe(String(body.length));
    });

  for (const [what, headers] of [
    ['known', length(Buffer.alloc(pageBytesMax + 1))],
    ['unknown', {}],
  ] as const)
    it(`of ${what} length pass when they are too large`, async () => {
      // Proves the size bound, and that the part buffered by then is not lost.
      const body = Buffer.alloc(pageBytesMax + 1, page);
      const reply = await shown(headers, body);
      expect(reply.body.equals(body)).toBe(true);
    });

  it('pass in parts', async () => {
    // Proves that byte ranges are not rewritten.
    const target = await serve((_request, response) => {
      response.writeHead(206, { 'Content-Type': 'text/html', 'Content-Range': 'bytes 0-30/99' }).end(page);
    });
    expect((await ask((await proxyTo(target)).port)).body.toString()).toBe(page);
  });

  it('that are only asked about have no length', async () => {
    // Proves that HEAD does not announce the length before rewriting.
    const reply = await shown(length(page), '', { method: 'HEAD' });
    expect(reply.status).toBe(200);
    expect(reply.headers['content-length']).toBeUndefined();
  });

  it('of errors are rewritten too', async () => {
    // Proves that the status does not matter.
    const target = await serve((_request, response) => {
      response.writeHead(404, { 'Content-Type': 'text/html' }).end(page);
    });
    const reply = await ask((await proxyTo(target)).port);
    expect([reply.status, reply.body.toString()]).toEqual([404, rewritten]);
  });

  it('many at a time are still answered', async () => {
    // Proves that pages beyond the memory bound pass unchanged.
    const body = Buffer.alloc(pageBytesMax - 100, ' ');
    body.write(page);
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const target = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html', ...length(body) });
      response.write(body.subarray(0, -1));
      void finished.then(() => response.end(body.subarray(-1)));
    });
    const { port } = await proxyTo(target);
    const begun = Array.from({ length: 12 }, async () => {
      const [response] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage];
      return response;
    });
    // No page is complete yet, so one of them passes unchanged with its length.
    expect((await Promise.race(begun)).headers['content-length']).toBe(String(body.length));
    finish();
    const lengths = await Promise.all(begun.map(async (response) => (await buffer(await response)).length));
    expect(lengths.filter((bytes) => bytes === body.length)).not.toEqual([]);
    // The memory is released: the next page is rewritten again.
    expect((await shown(length(page), page)).body.toString()).toBe(rewritten);
  });
});
