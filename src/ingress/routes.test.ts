/** Routes: which ingress a request matches. Kubernetes' rules for hosts and paths, and hostile paths. */
import { describe, expect, it } from 'vitest';
import { turnsDuring } from '../../test/support/turns.ts';
import type { HTTPIngressPath, Ingress } from '../api/generated/types.ts';
import { Routes } from './routes.ts';
import { isServed } from './served.ts';

/** `host`, then paths: `=/a` is exact, `/a` a prefix; each goes to a service named like host and path. */
const rule = (host: string, ...paths: string[]) => ({
  ...(host ? { host } : {}),
  http: {
    paths: paths.map((path): HTTPIngressPath => {
      const exact = path.startsWith('=');
      return {
        path: path.replace('=', ''),
        pathType: exact ? 'Exact' : 'Prefix',
        backend: { serviceName: `${host}${path}`, servicePort: 80 },
      };
    }),
  },
});

const ingress = (name: string, spec: Ingress['spec'], more: Partial<Ingress['metadata']> = {}): Ingress => ({
  metadata: { name, namespace: 'ns', creationTimestamp: '2020-01-01T00:00:00Z', ...more },
  spec,
});

const backend = (serviceName: string) => ({ serviceName, servicePort: 80 });

const finder =
  (...ingresses: Ingress[]) =>
  (host: string, path: string): string | undefined =>
    new Routes(ingresses).find(host, path)?.service?.name;

describe('paths', () => {
  // Rows: paths of rules, path of the request, the rule that matches. From the table in Kubernetes' documentation.
  const rows: [rules: string[], asked: string, match: string | undefined][] = [
    [['/'], '/any/path', '/'],
    [['=/foo'], '/foo', '=/foo'],
    [['=/foo'], '/bar', undefined],
    [['=/foo'], '/foo/', undefined],
    [['=/foo/'], '/foo', undefined],
    [['/foo'], '/foo', '/foo'],
    [['/foo'], '/foo/', '/foo'],
    [['/foo/'], '/foo', '/foo/'],
    [['/foo/'], '/foo/', '/foo/'],
    [['/aaa/bb'], '/aaa/bbb', undefined],
    [['/aaa/bbb'], '/aaa/bbb', '/aaa/bbb'],
    [['/aaa/bbb/'], '/aaa/bbb', '/aaa/bbb/'],
    [['/aaa/bbb'], '/aaa/bbb/', '/aaa/bbb'],
    [['/aaa/bbb'], '/aaa/bbb/ccc', '/aaa/bbb'],
    [['/aaa/bbb'], '/aaa/bbbxyz', undefined],
    [['/', '/aaa'], '/aaa/ccc', '/aaa'],
    [['/', '/aaa', '/aaa/bbb'], '/aaa/bbb', '/aaa/bbb'],
    [['/', '/aaa', '/aaa/bbb'], '/ccc', '/'],
    [['/aaa'], '/ccc', undefined],
    [['/foo', '=/foo'], '/foo', '=/foo'],
    [['/foo', '=/foo'], '/foo/a', '/foo'],
    [['/foo'], '/FOO', undefined],
    // The backend decodes and resolves paths, so the resolved path is compared.
    [['/public', '/admin'], '/public/../admin', '/admin'],
    [['/public', '/admin'], '/public/%2e%2E/admin', '/admin'],
    [['/a'], '/../../a', '/a'],
    [['/a b'], '/a%20b', '/a b'],
    [['/a%20b'], '/a%20b/c', '/a%20b'],
    [['/%61'], '/a', '/%61'],
    [['/é'], '/%C3%A9', '/é'],
    [['/é'], '/\xc3\xa9', '/é'],
    [['/a/b'], '/a%2Fb', undefined],
    [['/a'], '/a%', undefined],
    [['/a'], '//a', undefined],
    [['/a'], `${'/a'.repeat(8_000)}`, '/a'],
  ];
  for (const [rules, asked, match] of rows)
    it(`${asked.slice(0, 30)} among ${rules.join(' ')}`, () => {
      // Proves that an exact path wins, then the longest prefix of whole elements.
      expect(finder(ingress('a', { rules: [rule('', ...rules)] }))('h.com', asked)).toBe(match);
    });

  it('without a type are prefixes, and without a path mean all', () => {
    // Proves that ingresses of the old version, whose paths had no type, are served.
    const paths = [
      { path: '/old', pathType: 'ImplementationSpecific', backend: backend('old') },
      { pathType: 'ImplementationSpecific', backend: backend('all') },
    ];
    const find = finder(ingress('a', { rules: [{ http: { paths } }] }));
    expect([find('', '/old/x'), find('', '/older'), find('', '/')]).toEqual(['old', 'all', 'all']);
  });
});

describe('hosts', () => {
  it('are taken exactly, then as one label below a wildcard, then any', () => {
    // Proves the order of hosts, and that a host without a matching path passes the request to the next.
    const find = finder(
      ingress('a', { rules: [rule('', '/'), rule('*.foo.com', '/', '/wild'), rule('a.foo.com', '/a')] }),
    );
    expect(find('a.foo.com', '/a')).toBe('a.foo.com/a');
    expect(find('a.foo.com', '/wild/b')).toBe('*.foo.com/wild');
    expect(find('b.foo.com', '/a')).toBe('*.foo.com/');
    expect(find('b.a.foo.com', '/a')).toBe('/');
    expect(find('foo.com', '/a')).toBe('/');
    expect(find('', '/a')).toBe('/');
  });
});

describe('default backends', () => {
  it('get what no rule takes: first for the hosts of their ingress, then for all', () => {
    // Proves which default backend answers when no path matches.
    const find = finder(
      ingress('old', { backend: backend('old'), rules: [rule('old.com', '/a')] }),
      ingress('rest', { backend: backend('rest') }),
      ingress('young', { backend: backend('young'), rules: [{ host: 'young.com' }] }),
    );
    expect(find('old.com', '/a')).toBe('old.com/a');
    expect(find('old.com', '/b')).toBe('old');
    expect(find('young.com', '/b')).toBe('young');
    expect(find('other.com', '/')).toBe('rest');
    expect(finder()('other.com', '/')).toBeUndefined();
  });
});

describe('large ingresses', () => {
  const many = <T>(make: (i: number) => T, count = 30_000): T[] =>
    Array.from({ length: count }, (_, i) => make(i));

  it('cost what their hosts and certificates cost, not their product', () => {
    // Proves that hosts are not listed again for each certificate that is for all of them: that was more than a list holds.
    const rules = many((i) => ({
      host: `h${i}.com`,
      http: { paths: [{ path: '/', backend: backend('a') }] },
    }));
    const tls = many((i) => ({ secretName: `s${i}` }));
    const routes = new Routes([ingress('a', { rules, tls })]);
    expect(routes.find('h29999.com', '/')?.redirected.size).toBe(30_000);
  });

  it('are read in slices, and few of their problems are kept', async () => {
    // Proves that others are served while thousands of paths are read, and that each does not become an event.
    const paths = many((i) => `/p${i}`);
    const [old, young] = ['2020', '2021'].map((year) =>
      ingress('a', { rules: [rule('h.com', ...paths)] }, { creationTimestamp: `${year}-01-01T00:00:00Z` }),
    );
    const { turns, result: routes } = await turnsDuring(() => Routes.made([old!, young!]));
    expect(turns).toBeGreaterThan(20);
    expect(routes.problems).toHaveLength(25);
    expect(routes.find('h.com', '/p29999')?.ingress).toBe(old);
  });
});

describe('ingresses that want the same', () => {
  it('are served in the order of their age, and the younger is told of', () => {
    // Proves that a younger ingress cannot take over a path of an older one.
    const young = ingress(
      'a',
      { rules: [{ ...rule('h.com', '/x', '/y') }] },
      { creationTimestamp: '2021-01-01T00:00:00Z' },
    );
    const old = ingress('z', {
      rules: [{ host: 'h.com', http: { paths: [{ path: '/x/', backend: backend('old') }] } }],
    });
    const routes = new Routes([young, old]);
    expect(routes.find('h.com', '/x')?.service?.name).toBe('old');
    expect(routes.find('h.com', '/y')?.service?.name).toBe('h.com/y');
    expect(routes.problems).toEqual([
      { ingress: young, reason: 'PathTaken', message: 'h.com/x is served for the older ingress ns/z' },
    ]);
  });
});

it('classes: none and those of this controller are served, by field or annotation', () => {
  // Proves that ingresses of other controllers are left alone.
  const classes = [
    { metadata: { name: 'web' }, spec: { controller: 'wherry.dev/ingress' } },
    { metadata: { name: 'other' }, spec: { controller: 'example.com/ingress' } },
  ];
  const classed = (ingressClassName?: string, annotation?: string) =>
    isServed(
      ingress(
        'a',
        { ingressClassName },
        annotation === undefined ? {} : { annotations: { 'kubernetes.io/ingress.class': annotation } },
      ),
      (name) => classes.find(({ metadata }) => metadata.name === name),
    );
  expect([classed(), classed('wherry'), classed(undefined, 'wherry'), classed(undefined, '')]).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([classed('nginx'), classed(undefined, 'nginx')]).toEqual([false, false]);
  expect([classed('web'), classed(undefined, 'web'), classed('other')]).toEqual([true, true, false]);
});
