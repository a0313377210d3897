/** Ports of a service follow Kubernetes' rules, and an update that leaves node ports out keeps them. */
import { describe, expect, test } from 'vitest';
import { port, problems, updated } from '../../kinds/core/service.fixture.ts';
import { nodePortsOf } from './service-ports.ts';

const range = 'must be between 1 and 65535, inclusive';

describe('validation', () => {
  test('ports are needed, except by a headless service and a name', () => {
    expect(problems({})).toEqual(['spec.ports: Required value']);
    expect(problems({ type: 'NodePort' })).toEqual(['spec.ports: Required value']);
    expect(problems({ clusterIP: 'None' })).toEqual([]);
    expect(problems({ type: 'ExternalName', externalName: 'a.b' })).toEqual([]);
  });

  test('names are needed by several ports, must be labels and differ', () => {
    expect(problems({ ports: [{ port: 1 }, { port: 2, name: 'b' }] })).toEqual([
      'spec.ports[0].name: Required value',
    ]);
    expect(problems({ ports: [{ port: 1, name: 'A' }] })[0]).toMatch(
      /^spec\.ports\[0\]\.name: Invalid value: "A": a lowercase RFC 1123 label must/,
    );
    expect(
      problems({
        ports: [
          { port: 1, name: 'a' },
          { port: 2, name: 'a' },
        ],
      }),
    ).toEqual(['spec.ports[1].name: Duplicate value: "a"']);
  });

  test.each([
    [
      { port: 0 },
      [
        `spec.ports[0].port: Invalid value: 0: ${range}`,
        `spec.ports[0].targetPort: Invalid value: 0: ${range}`,
      ],
    ],
    [{ port: 65_536, targetPort: 1 }, [`spec.ports[0].port: Invalid value: 65536: ${range}`]],
    [{ port: 1, targetPort: -1 }, [`spec.ports[0].targetPort: Invalid value: -1: ${range}`]],
    [
      { port: 1, targetPort: 'BAD!' },
      [
        'spec.ports[0].targetPort: Invalid value: "BAD!": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'spec.ports[0].targetPort: Invalid value: "BAD!": must contain at least one letter (a-z)',
      ],
    ],
    [
      { port: 1, protocol: 'X' },
      ['spec.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"'],
    ],
    [
      { port: 1, nodePort: 30_001 },
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    [{ port: 1, appProtocol: 'kubernetes.io/h2c' }, []],
  ])('%j', (sent, errors) => {
    expect(problems({ ports: [sent] })).toEqual(errors);
  });

  test('an application protocol is a qualified name', () => {
    expect(problems({ ports: [{ port: 1, appProtocol: 'a b' }] })[0]).toMatch(
      /^spec\.ports\[0\]\.appProtocol: Invalid value: "a b": name part must/,
    );
  });

  test('a port may stand there once for each protocol, and so may a node port', () => {
    const [tcp, udp] = [
      { port: 53, name: 'a', nodePort: 30_001 },
      { port: 53, name: 'b', protocol: 'UDP', nodePort: 30_001 },
    ];
    expect(problems({ type: 'NodePort', ports: [tcp, udp] })).toEqual([]);
    expect(problems({ type: 'NodePort', ports: [tcp, { ...udp, protocol: 'TCP' }] })).toEqual([
      'spec.ports[1].nodePort: Duplicate value: 30001',
      'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":53,"TargetPort":0,"NodePort":0}',
    ]);
  });
});

describe('update', () => {
  const nodePorts = (before: object, spec: object): unknown[] =>
    updated(before, spec).spec!.ports!.map((each) => each.nodePort);
  const before = {
    type: 'NodePort',
    ports: [
      { ...port, name: 'a', nodePort: 30_001 },
      { ...port, port: 81, name: 'b', nodePort: 30_002 },
    ],
  };

  test('node ports come back by the name of the port', () => {
    const ports = [
      { port: 9, name: 'b' },
      { port: 8, name: 'c' },
      { port: 7, name: 'a' },
    ];
    expect(nodePorts(before, { type: 'NodePort', ports })).toEqual([30_002, undefined, 30_001]);
    expect(nodePorts(before, { type: 'LoadBalancer', ports })).toEqual([30_002, undefined, 30_001]);
  });

  test('a number that the client gives to another port stays there', () => {
    const ports = [
      { port: 80, name: 'a' },
      { port: 81, name: 'b', nodePort: 30_001 },
    ];
    expect(nodePorts(before, { type: 'NodePort', ports })).toEqual([undefined, 30_001]);
  });

  test('a service that had no node ports gets none back', () => {
    expect(nodePorts({ type: 'ClusterIP', ports: [port] }, { type: 'NodePort', ports: [port] })).toEqual([
      undefined,
    ]);
  });

  test('the health check port comes back', () => {
    const balancer = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [port] };
    expect(updated({ ...balancer, healthCheckNodePort: 30_009 }, balancer).spec!.healthCheckNodePort).toBe(
      30_009,
    );
  });
});

test('what a service holds depends on its type', () => {
  const ports = [{ ...port, nodePort: 30_001 }, { ...port }];
  expect([...nodePortsOf({ type: 'NodePort', ports, healthCheckNodePort: 5 })]).toEqual([30_001]);
  expect([...nodePortsOf({ type: 'ExternalName', ports })]).toEqual([]);
  expect([
    ...nodePortsOf({
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      ports,
      healthCheckNodePort: 30_002,
    }),
  ]).toEqual([30_001, 30_002]);
});
