/** Proves that values which several requests share cannot be changed by one of them. */
import { Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { optimized } from '../../switches.ts';
import { parseRequest } from '../http/request-info.ts';
import { PlainReader, type PlainRequest } from '../wire/plain-request.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

describe('the headers of requests on one connection', () => {
  const reader = new PlainReader(new Socket(), 1_000);
  const read = (fields: string): PlainRequest =>
    reader.read(Buffer.from(`GET /a HTTP/1.1\r\n${fields}\r\n`)) as PlainRequest;

  it('are shared and frozen', () => {
    const [first, second] = [1, 2].map(() => read('Host: localhost\r\nAccept: a\r\n')) as [
      PlainRequest,
      PlainRequest,
    ];
    expect(second.headers).toBe(first.headers);
    expect(() => {
      first.headers.accept = 'b';
    }).toThrow(TypeError);
    expect(() => {
      first.headers['x-new'] = 'b';
    }).toThrow(TypeError);
    expect(second.headers).toEqual({ host: 'localhost', accept: 'a' });
  });

  it('are read anew when they differ', () => {
    expect(read('Host: localhost\r\nAccept: b\r\n').headers.accept).toBe('b');
  });
});

describe('what a URL asks for', () => {
  const url = '/api/v1/namespaces/n/pods/p/log/a';

  it.runIf(optimized)('is shared and frozen, with everything in it', () => {
    const info = parseRequest('GET', url);
    expect(parseRequest('GET', url)).toBe(info);
    for (const shared of [info, info.resource, info.resource!.tail])
      expect(Object.isFrozen(shared)).toBe(true);
  });

  it('is read each time without optimisations', async () => {
    vi.stubEnv('WHERRY_PLAIN', '1');
    vi.resetModules();
    const { parseRequest: parsePlainly } = await import('../http/request-info.ts');
    const info = parsePlainly('GET', url);
    expect(parsePlainly('GET', url)).not.toBe(info);
    expect(parsePlainly('GET', url)).toEqual(parseRequest('GET', url));
  });
});
