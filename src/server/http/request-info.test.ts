/**
 * What a method and a URL ask for: proxies in both forms (streaming contract, 5.1 and 5.4), verbs, and which requests
 * are long-running.
 */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { optimized } from '../../switches.ts';
import { isBrief, parseRequest } from './request-info.ts';

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
      // Proves where the API's part of the path ends and the target's begins, which stays as it was sent.
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
      expect(parseRequest('GET', path).lasting).toBe('connection');
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
      // Proves that no other path is taken for a proxy.
      expect(parse(path)?.proxy).toBeUndefined();
    });

  it('may hold bytes that are no text, others may not', () => {
    // Proves that only the proxied part of a path may be invalid UTF-8.
    expect(() => parse('/api/v1/namespaces/n/pods/%FF')).toThrow('malformed percent-encoding');
    expect(() => parse('/api/v1/namespaces/n/pods/p/proxy/%zz')).toThrow('malformed percent-encoding');
    expect(() => parse('/api/v1/namespaces/n/pods/p/proxy/%')).toThrow('malformed percent-encoding');
  });

  it('are cut where their segments say, however they are encoded', () => {
    // Proves that the authorized part (the segments) and the forwarded part (the tail) make up the whole path.
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
      { numRuns: rounds(3000) },
    );
  });
});

describe('what lasts', () => {
  it.each([
    // Collections are watched by a parameter, as Kubernetes reads booleans, however its name is written.
    ['GET', '/api/v1/pods', undefined, 'list'],
    ['GET', '/api/v1/pods?watch=true', 'watch', 'watch'],
    ['GET', '/api/v1/pods?watch=1', 'watch', 'watch'],
    ['GET', '/api/v1/pods?watch', 'watch', 'watch'],
    ['GET', '/api/v1/pods?watch=', 'watch', 'watch'],
    ['GET', '/api/v1/pods?watch=no', 'watch', 'watch'],
    ['GET', '/api/v1/pods?w%61tch=1', 'watch', 'watch'],
    ['GET', '/api/v1/pods?%77%61%74%63%68=%31', 'watch', 'watch'],
    ['GET', '/api/v1/pods?limit=5&watch=true', 'watch', 'watch'],
    ['GET', '/api/v1/pods?watch=true&watch=false', 'watch', 'watch'],
    ['GET', '/api/v1/namespaces/n/pods/?watch=true', 'watch', 'watch'],
    ['GET', '/apis/apps/v1/deployments?watch=true', 'watch', 'watch'],
    ['GET', '/apis/nobody/v1/nothings?watch=true', 'watch', 'watch'],
    ['GET', '/api/v1/pods?watch=false', undefined, 'list'],
    ['GET', '/api/v1/pods?watch=FALSE', undefined, 'list'],
    ['GET', '/api/v1/pods?watch=0', undefined, 'list'],
    ['GET', '/api/v1/pods?w%61tch=0', undefined, 'list'],
    ['GET', '/api/v1/pods?watch=false&watch=true', undefined, 'list'],
    ['GET', '/api/v1/pods?Watch=true', undefined, 'list'],
    ['GET', '/api/v1/pods?watchers=true', undefined, 'list'],
    ['GET', '/api/v1/pods?allowWatchBookmarks=true', undefined, 'list'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dwatch', undefined, 'list'],
    ['GET', '/api/v1/pods?a=watch=true', undefined, 'list'],
    ['GET', '/api/v1/pods?a=%26watch=true', undefined, 'list'],
    // The path of an object is not watched by a parameter, nor is a collection by another method than GET.
    ['GET', '/api/v1/namespaces/n/pods/p?watch=true', undefined, 'get'],
    ['HEAD', '/api/v1/pods?watch=true', undefined, 'list'],
    ['POST', '/api/v1/pods?watch=true', undefined, 'create'],
    ['DELETE', '/api/v1/namespaces/n/pods?watch=true', undefined, 'deletecollection'],
    ['GET', '/version?watch=true', undefined, 'get'],
    // The old form has it in the path.
    ['GET', '/api/v1/watch/pods', 'watch', 'watch'],
    ['GET', '/api/v1/watch/pods?watch=false', 'watch', 'watch'],
    ['GET', '/api/v1/watch/namespaces/n/pods/p', 'watch', 'watch'],
    ['GET', '/api/v1/watch/namespaces/n/pods/p/status', undefined, 'get'],
    ['POST', '/api/v1/watch/pods', undefined, 'create'],
    // Connections are long-running, whatever their method.
    ['GET', '/api/v1/namespaces/n/pods/p/log', 'connection', 'get'],
    ['POST', '/api/v1/namespaces/n/pods/p/exec', 'connection', 'create'],
    ['GET', '/api/v1/namespaces/n/pods/p/attach?watch=true', 'connection', 'get'],
    ['POST', '/api/v1/namespaces/n/pods/p/portforward', 'connection', 'create'],
    ['PATCH', '/api/v1/nodes/n/proxy/x', 'connection', 'patch'],
    ['GET', '/api/v1/proxy/nodes/n', 'connection', 'proxy'],
    ['GET', '/api/v1/watch/namespaces/n/pods/p/log', 'connection', 'get'],
    ['GET', '/api/v1/namespaces/n/pods/p/status', undefined, 'get'],
    ['PUT', '/api/v1/namespaces/n/pods/p', undefined, 'update'],
    ['OPTIONS', '/api/v1/pods', undefined, 'options'],
  ] as const)('%s %s: %s', (method, url, lasting, verb) => {
    // Proves that the URL alone decides that, in agreement with the verb.
    const info = parseRequest(method, url);
    expect([info.lasting, info.verb]).toEqual([lasting, verb]);
    expect(isBrief(method, url)).toBe(lasting === undefined);
  });

  it('is not what has too many parameters to be read', () => {
    const info = parseRequest('GET', `/api/v1/pods?watch=true&${'a=b&'.repeat(1001)}`);
    expect(info.lasting).toBeUndefined();
    expect(() => info.query).toThrow('at most 1000 query parameters');
  });

  it('is not what cannot be read at all', () => {
    expect(isBrief('GET', '/api/v1/%zz?watch=true')).toBe(true);
  });
});

describe('a URL of a mebibyte', () => {
  it('is not taken apart further than the API looks', () => {
    const slashes = '/'.repeat(1_000_000);
    expect(parse(slashes)).toBeUndefined();
    const info = parse(`/api/v1/nodes/n/proxy${slashes}`);
    expect(info!.tail.length).toBeLessThan(64);
    expect(info!.proxy!.tail).toBe(slashes.slice(1));
  });

  it('is refused before half a million parameters are read', () => {
    const { prototype } = URLSearchParams;
    onTestFinished(() => void vi.unstubAllGlobals());
    vi.stubGlobal('URLSearchParams', () => {
      throw new Error('was read');
    });
    const info = parseRequest('GET', `/api/v1/pods?${'a&'.repeat(500_000)}`);
    expect(() => info.query).toThrow('at most 1000 query parameters');
    vi.stubGlobal('URLSearchParams', prototype.constructor);
    // Empty ones do not count.
    expect(parseRequest('GET', `/api/v1/pods?${'&'.repeat(5_000)}a=b`).query.get('a')).toBe('b');
  });
});

it('group and version are told apart', () => {
  expect(parse('/api/v1/pods')).toMatchObject({ apiVersion: 'v1', group: '', version: 'v1' });
  expect(parse('/apis/apps/v1/deployments')).toMatchObject({
    apiVersion: 'apps/v1',
    group: 'apps',
    version: 'v1',
  });
  expect(parse('/api/v1/proxy/nodes/n')).toMatchObject({ apiVersion: 'v1', group: '', version: 'v1' });
});

it.runIf(optimized)('is worked out once for a URL', () => {
  const first = parseRequest('GET', '/api/v1/pods?limit=7');
  expect(parseRequest('GET', '/api/v1/pods?limit=7')).toBe(first);
  expect(first.query).toBe(first.query);
});

describe('the dashboard', () => {
  it.each([
    ['GET', '/', 'root'],
    ['GET', '/ui', 'ui'],
    ['HEAD', '/ui/list/pods?ns=default', 'ui'],
    ['POST', '/ui/', undefined],
    ['GET', '/uix', undefined],
    ['GET', '/api/v1/pods', undefined],
    ['GET', '/version', undefined],
  ])('%s %s: %s', (method, url, page) => expect(parseRequest(method, url).page).toBe(page));
});
