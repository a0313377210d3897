/** A service gets the same defaults, warnings, columns and cells as in Kubernetes. */
import { describe, expect, test } from 'vitest';
import { columnDefinitions } from '../../kind/table.ts';
import { shownCells } from '../kind.fixture.ts';
import { decoded, port, prepared, problems, specOf } from './service.fixture.ts';
import { service as kind } from './service.ts';

describe('defaults', () => {
  test('a bare service', () => {
    expect(decoded({ ports: [{ port: 80 }] }).spec).toEqual({
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
    });
  });

  test.each([
    ['NodePort', {}, { externalTrafficPolicy: 'Cluster', internalTrafficPolicy: 'Cluster' }],
    [
      'LoadBalancer',
      {},
      {
        externalTrafficPolicy: 'Cluster',
        internalTrafficPolicy: 'Cluster',
        allocateLoadBalancerNodePorts: true,
      },
    ],
    ['ExternalName', {}, {}],
    [
      'ClusterIP',
      { externalIPs: ['1.2.3.4'] },
      { externalTrafficPolicy: 'Cluster', internalTrafficPolicy: 'Cluster', externalIPs: ['1.2.3.4'] },
    ],
  ])('%s %j', (type, sent, filled) => {
    expect(decoded({ type, ...sent }).spec).toEqual({ type, sessionAffinity: 'None', ...filled });
  });

  test('what is given stays', () => {
    const given = {
      type: 'LoadBalancer',
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
      externalTrafficPolicy: 'Local',
      internalTrafficPolicy: 'Local',
      allocateLoadBalancerNodePorts: false,
      ports: [{ port: 80, protocol: 'UDP', targetPort: 'web' }],
    };
    expect(decoded(given).spec).toEqual(given);
  });

  test('a target port of 0 or "" is the port', () => {
    const ports = [
      { port: 80, targetPort: 0 },
      { port: 81, targetPort: '' },
    ];
    expect(decoded({ ports }).spec!.ports!.map((each) => each.targetPort)).toEqual([80, 81]);
  });

  test('session affinity brings its timeout, and none takes the settings away', () => {
    const timeout = { clientIP: { timeoutSeconds: 10_800 } };
    expect(decoded({ sessionAffinity: 'ClientIP' }).spec!.sessionAffinityConfig).toEqual(timeout);
    expect(
      decoded({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: {} } }).spec!
        .sessionAffinityConfig,
    ).toEqual(timeout);
    expect(
      decoded({ sessionAffinity: 'None', sessionAffinityConfig: timeout }).spec!.sessionAffinityConfig,
    ).toBeUndefined();
  });

  test('external addresses under their 1.1 name', () => {
    const old = decoded({ deprecatedPublicIPs: ['1.2.3.4'] }).spec!;
    expect([old.externalIPs, old.deprecatedPublicIPs]).toEqual([['1.2.3.4'], undefined]);
    const both = decoded({ deprecatedPublicIPs: ['1.2.3.4'], externalIPs: ['5.6.7.8'] }).spec!;
    expect([both.externalIPs, both.deprecatedPublicIPs]).toEqual([['5.6.7.8'], undefined]);
  });

  test('an ingress address is passed on as it is', () => {
    const status = { loadBalancer: { ingress: [{ ip: '1.2.3.4' }, { hostname: 'a.b' }] } };
    expect(decoded({ type: 'LoadBalancer' }, status).status!.loadBalancer!.ingress).toEqual([
      { ip: '1.2.3.4', ipMode: 'VIP' },
      { hostname: 'a.b' },
    ]);
    expect(decoded({ type: 'NodePort' }, status).status!.loadBalancer!.ingress![0]).toEqual({
      ip: '1.2.3.4',
    });
  });
});

test('preparation fills the list of addresses, and a mere name has no internal policy', () => {
  expect(specOf({ clusterIP: 'None' }).clusterIPs).toEqual(['None']);
  expect(specOf({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.2'] }).clusterIPs).toEqual(['10.0.0.2']);
  expect(
    specOf({ type: 'ExternalName', internalTrafficPolicy: 'Local' }).internalTrafficPolicy,
  ).toBeUndefined();
});

test('a good service of each type has no errors', () => {
  expect(problems({ ports: [port] })).toEqual([]);
  expect(problems({ type: 'NodePort', ports: [{ ...port, nodePort: 30_000 }] })).toEqual([]);
  expect(problems({ type: 'LoadBalancer', ports: [port] })).toEqual([]);
  expect(problems({ type: 'ExternalName', externalName: 'example.com.' })).toEqual([]);
  expect(problems({ clusterIP: 'None' })).toEqual([]);
});

test('an unknown type, and bad selectors', () => {
  expect(problems({ type: 'Foo', ports: [port] })).toEqual([
    'spec.type: Unsupported value: "Foo": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
  ]);
  const bad = problems({ ports: [port], selector: { 'a b': 'c d' } });
  expect(bad).toHaveLength(2);
  expect(bad[0]).toMatch(/^spec\.selector: Invalid value: "a b": name part must consist of/);
  expect(bad[1]).toMatch(/^spec\.selector: Invalid value: "c d": a valid label must be/);
});

test('external addresses draw a warning', () => {
  expect(kind.warnings!(prepared({ externalIPs: ['1.2.3.4'] }), undefined)).toEqual([
    'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
  ]);
  expect(kind.warnings!(prepared({}), undefined)).toEqual([]);
});

describe('table', () => {
  const nowMs = Date.parse('2026-01-01T00:02:00Z');
  const cells = (spec: object, status?: object): unknown[] =>
    shownCells(
      kind,
      {
        metadata: { name: 'x', creationTimestamp: '2026-01-01T00:00:00Z' },
        spec,
        ...(status ? { status } : {}),
      },
      nowMs,
    );
  const external = (spec: object, ingress: object[] = []): unknown =>
    cells(spec, { loadBalancer: { ingress } })[3];

  test('columns', () => {
    expect(columnDefinitions(kind).map(({ name, type, priority }) => [name, type, priority])).toEqual([
      ['Name', 'string', 0],
      ['Type', 'string', 0],
      ['Cluster-IP', 'string', 0],
      ['External-IP', 'string', 0],
      ['Port(s)', 'string', 0],
      ['Age', 'string', 0],
      ['Selector', 'string', 1],
    ]);
  });

  test('cells', () => {
    const ports = [
      { port: 80, protocol: 'TCP', nodePort: 30_001 },
      { port: 53, protocol: 'UDP' },
    ];
    expect(
      cells({ type: 'NodePort', clusterIPs: ['10.0.0.7'], ports, selector: { b: '2', a: '1' } }),
    ).toEqual(['x', 'NodePort', '10.0.0.7', '<none>', '80:30001/TCP,53/UDP', '2m', 'a=1,b=2']);
    expect(cells({ type: 'ExternalName', externalName: 'a.b' })).toEqual([
      'x',
      'ExternalName',
      '<none>',
      'a.b',
      '<none>',
      '2m',
      '<none>',
    ]);
    expect(cells({ type: 'ClusterIP', clusterIPs: ['None'] })[2]).toBe('None');
  });

  test('external address by type', () => {
    const externalIPs = ['1.1.1.1', '2.2.2.2'];
    expect(external({ type: 'ClusterIP' })).toBe('<none>');
    expect(external({ type: 'NodePort', externalIPs })).toBe('1.1.1.1,2.2.2.2');
    expect(external({ type: 'LoadBalancer' })).toBe('<pending>');
    expect(external({ type: 'LoadBalancer', externalIPs })).toBe('1.1.1.1,2.2.2.2');
    const ingress = [{ ip: '9.9.9.9' }, { ip: '8.8.8.8' }, { hostname: 'a.b' }, { ip: '9.9.9.9' }];
    expect(external({ type: 'LoadBalancer' }, ingress)).toBe('8.8.8.8,9.9.9.9,a.b');
    expect(external({ type: 'LoadBalancer', externalIPs }, ingress)).toBe(
      '8.8.8.8,9.9.9.9,a.b,1.1.1.1,2.2.2.2',
    );
    expect(external({ type: 'Foo' })).toBe('<unknown>');
  });
});
