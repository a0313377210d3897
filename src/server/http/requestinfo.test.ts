/** What a path asks for when it leads through a proxy, in both forms. Streaming contract, 5.1 and 5.4. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLongRunning, parseRequest } from './requestinfo.ts';

const parse = (path: string) => parseRequest('GET', path).resource;

describe('proxy paths', () => {
  for (const [path, resource, namespace, name, prefix, tail] of [
    ['/api/v1/namespaces/n/pods/p/proxy', 'pods', 'n', 'p', '/api/v1/namespaces/n/pods/p/proxy', undefined],
    ['/api/v1/namespaces/n/pods/p/proxy/', 'pods', 'n', 'p', '/api/v1/namespaces/n/pods/p/proxy', ''],
    ['/api/v1/namespaces/n/pods/p/proxy//', 'pods', 'n', 'p', '/api/v1/namespaces/n/pods/p/proxy', '/'],
    [
      '/api/v1/namespaces/n/pods/p/proxy/a/b/?x',
      'pods',
      'n',
      'p',
      '/api/v1/namespaces/n/pods/p/proxy',
      'a/b/',
    ],
    [
      '/api/v1/namespaces/n/pods/p/proxy/a%2Fb%FF',
      'pods',
      'n',
      'p',
      '/api/v1/namespaces/n/pods/p/proxy',
      'a%2Fb%FF',
    ],
    [
      '/api/v1/namespaces/n/services/https:s:x/proxy/..',
      'services',
      'n',
      'https:s:x',
      '/api/v1/namespaces/n/services/https:s:x/proxy',
      '..',
    ],
    [
      '/api/v1/namespaces/n/services/s%3A80/proxy/y',
      'services',
      'n',
      's:80',
      '/api/v1/namespaces/n/services/s%3A80/proxy',
      'y',
    ],
    [
      '/api/v1/nodes/n1:10250/proxy/healthz',
      'nodes',
      undefined,
      'n1:10250',
      '/api/v1/nodes/n1:10250/proxy',
      'healthz',
    ],
    ['/api/v1/namespaces/n/pods/p%2Fproxy%2Fa', 'pods', 'n', 'p', '/api/v1/namespaces/n/pods/p%2Fproxy', 'a'],
    ['/api/v1/namespaces/n/pods//proxy', 'pods', 'n', '', '/api/v1/namespaces/n/pods//proxy', undefined],
    ['/api/v1/proxy/namespaces/n/pods/p', 'pods', 'n', 'p', '/api/v1/proxy/namespaces/n/pods/p', undefined],
    ['/api/v1/proxy/namespaces/n/pods/p/', 'pods', 'n', 'p', '/api/v1/proxy/namespaces/n/pods/p', ''],
    [
      '/api/v1/proxy/namespaces/n/services/s:p/a/b',
      'services',
      'n',
      's:p',
      '/api/v1/proxy/namespaces/n/services/s:p',
      'a/b',
    ],
    ['/api/v1/proxy/nodes/n1/proxy/x', 'nodes', undefined, 'n1', '/api/v1/proxy/nodes/n1', 'proxy/x'],
    ['/api/v1/proxy/nodes/n1%2fa', 'nodes', undefined, 'n1', '/api/v1/proxy/nodes/n1', 'a'],
  ] as const)
    it(path, () => {
      // Proves where the API ends and the target's path begins, which stays as it was sent.
      const form = path.startsWith('/api/v1/proxy/') ? 'prefix' : 'connect';
      const info = parse(path);
      expect(info).toMatchObject({
        apiVersion: 'v1',
        resource,
        name,
        subresource: 'proxy',
        watchPrefix: false,
      });
      expect(info?.namespace).toBe(namespace);
      expect(info?.proxy).toEqual({ form, prefix, tail });
      expect(isLongRunning(info)).toBe(true);
    });

  for (const path of [
    '/api/v1/namespaces/n/pods/p',
    '/api/v1/namespaces/n/pods/p/log',
    '/api/v1/pods/p/proxy',
    '/api/v1/namespaces//pods/p/proxy',
    '/api/v1/namespaces/n/nodes/x/proxy',
    '/api/v1/namespaces/n/configmaps/x/proxy',
    '/api/v1/watch/namespaces/n/pods/p/proxy',
    '/apis/extensions/v1beta1/namespaces/n/pods/p/proxy',
    '/apis/extensions/v1beta1/proxy/namespaces/n/pods/p',
    '/api/v1/proxy',
    '/api/v1/proxy/namespaces',
    '/api/v1/proxy/namespaces/n',
    '/api/v1/proxy/namespaces/n/pods',
    '/api/v1/proxy/namespaces/n/nodes/x',
    '/api/v1/proxy/namespaces//pods/p',
    '/api/v1/proxy/nodes',
    '/api/v1/proxy/pods/p',
    '/api/v1/proxy/watch/nodes/n',
    '/api/v1/watch/proxy/nodes/n',
  ])
    it(`${path} is none`, () => {
      // Proves that nothing else is taken for a proxy.
      expect(parse(path)?.proxy).toBeUndefined();
    });

  it('may hold bytes that are no text, others may not', () => {
    // Proves that only what is handed on need not be text.
    expect(() => parse('/api/v1/namespaces/n/pods/%FF')).toThrow('malformed percent-encoding');
    expect(() => parse('/api/v1/namespaces/n/pods/p/proxy/%zz')).toThrow('malformed percent-encoding');
    expect(() => parse('/api/v1/namespaces/n/pods/p/proxy/%')).toThrow('malformed percent-encoding');
  });

  it('are cut where their segments say, however they are encoded', () => {
    // Proves that what is authorized (the segments) and what is sent on (the tail) are parts of one whole.
    const part = fc.constantFrom(
      ...[
        '/',
        '%2F',
        '%2f',
        'api',
        'v1',
        'proxy',
        '%70roxy',
        'namespaces',
        'n',
        'pods',
        'p',
        'nodes',
        '..',
        '%2e',
        '',
      ],
    );
    const start = fc.constantFrom(
      '/api/v1/namespaces/n/pods/p/proxy',
      '/api/v1/proxy/nodes/n',
      '/api/v1/nodes/n/proxy',
      '/api/v1',
    );
    fc.assert(
      fc.property(start, fc.array(part, { maxLength: 16 }), (head, parts) => {
        const path = head + parts.join('');
        const info = parse(path);
        if (!info?.proxy) return;
        const { prefix, tail } = info.proxy;
        const decoded = decodeURIComponent(tail ?? '').replace(/\/$/, '');
        expect(info.tail.join('/')).toBe(decoded);
        const own = decodeURIComponent(prefix).split('/');
        expect(own.at(info.proxy.form === 'connect' ? -2 : -1)).toBe(info.name);
        expect(path.startsWith(prefix)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });
});
