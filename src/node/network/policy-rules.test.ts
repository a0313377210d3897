/** Proves what network policies allow, as addresses and ports, and the rules that the packet filter gets. */
import { describe, expect, it } from 'vitest';
import type { NetworkPolicy, NetworkPolicySpec, Pod } from '../../api/generated/types.ts';
import { optimized } from '../../switches.ts';
import { filterScript } from './packet-filter.ts';
import { type PolicyWorld, permits, rulesOf } from './policy-rules.ts';

const pod = (
  name: string,
  ip: string,
  labels: Record<string, string>,
  namespace = 'default',
  ports = {},
): Pod => ({
  metadata: { name, namespace, uid: name, labels },
  spec: { containers: [{ name: 'c', ports: [{ name: 'http', containerPort: 8080, ...ports }] }] },
  status: { phase: 'Running', podIP: ip },
});
const web = pod('web', '10.1.0.1', { app: 'web' });
const pods = [
  web,
  pod('client', '10.1.0.2', { app: 'client' }),
  pod('far', '10.1.0.3', { app: 'client' }, 'far', { containerPort: 9090 }),
  { ...pod('host', '192.0.2.1', { app: 'client' }), spec: { hostNetwork: true } },
  { ...pod('done', '10.1.0.9', { app: 'client' }), status: { phase: 'Succeeded', podIP: '10.1.0.9' } },
];

const world = (...specs: NetworkPolicySpec[]): PolicyWorld => ({
  policies: (namespace) =>
    namespace === 'default' ? specs.map((spec): NetworkPolicy => ({ metadata: {}, spec })) : [],
  pods: () => pods,
  namespace: (name) => ({ metadata: { name, labels: { name } } }),
});
const rules = (...specs: NetworkPolicySpec[]) => rulesOf(web, world(...specs));
const clients = { podSelector: { matchLabels: { app: 'client' } } };

describe('a pod', () => {
  it('may do everything when no policy of a direction selects it', () => {
    expect(rules()).toEqual({ ingress: undefined, egress: undefined });
    expect(
      rules({ podSelector: { matchLabels: { app: 'x' } }, policyTypes: ['Ingress'] }).ingress,
    ).toBeUndefined();
    expect(rules({ podSelector: {}, policyTypes: ['Ingress'] })).toEqual({ ingress: [], egress: undefined });
    expect(permits(undefined, '10.1.0.2', 'TCP', 80)).toBe(true);
    expect(permits([], '10.1.0.2', 'TCP', 80)).toBe(false);
  });

  it('accepts what one rule of one policy allows', () => {
    const { ingress } = rules(
      {
        podSelector: {},
        policyTypes: ['Ingress'],
        ingress: [{ from: [clients], ports: [{ port: 80, endPort: 90 }] }],
      },
      {
        podSelector: {},
        policyTypes: ['Ingress'],
        ingress: [{ ports: [{ port: 'http' }, { port: 53, protocol: 'UDP' }] }],
      },
    );
    const asked: [string, string, number][] = [
      ['10.1.0.2', 'TCP', 85],
      ['10.1.0.2', 'TCP', 91],
      ['10.1.0.3', 'TCP', 85],
      ['10.1.0.9', 'TCP', 85],
      ['10.9.9.9', 'TCP', 8080],
      ['10.9.9.9', 'UDP', 53],
      ['10.9.9.9', 'TCP', 53],
    ];
    expect(asked.map((one) => permits(ingress, ...one))).toEqual([
      true,
      false,
      false,
      false,
      true,
      true,
      false,
    ]);
  });

  it('tells peers apart by namespace, by labels there, and by address', () => {
    const from = (peer: object) =>
      rules({ podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [peer] }] }).ingress;
    const far = { namespaceSelector: { matchLabels: { name: 'far' } } };
    expect(permits(from(far), '10.1.0.3', 'TCP', 1)).toBe(true);
    expect(permits(from({ ...far, ...clients }), '10.1.0.3', 'TCP', 1)).toBe(true);
    expect(permits(from({ ...far, podSelector: { matchLabels: { app: 'x' } } }), '10.1.0.3', 'TCP', 1)).toBe(
      false,
    );
    expect(permits(from({ namespaceSelector: {} }), '10.1.0.2', 'TCP', 1)).toBe(true);
    const block = from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/24'] } });
    expect([permits(block, '10.2.0.1', 'TCP', 1), permits(block, '10.1.0.2', 'TCP', 1)]).toEqual([
      true,
      false,
    ]);
    // A peer that nobody is allows nothing.
    expect(from({ podSelector: { matchLabels: { app: 'nobody' } } })).toEqual([]);
  });

  it('sends to named ports by what each target calls so', () => {
    const { egress } = rules({
      podSelector: {},
      policyTypes: ['Egress'],
      egress: [{ to: [{ namespaceSelector: {} }], ports: [{ port: 'http' }, { port: 53, protocol: 'UDP' }] }],
    });
    expect(permits(egress, '10.1.0.2', 'TCP', 8080)).toBe(true);
    expect(permits(egress, '10.1.0.3', 'TCP', 8080)).toBe(false);
    expect(permits(egress, '10.1.0.3', 'TCP', 9090)).toBe(true);
    expect(permits(egress, '10.1.0.3', 'UDP', 53)).toBe(true);
    expect(permits(egress, '10.9.9.9', 'UDP', 53)).toBe(false);
  });
});

it('the packet filter drops what no rule accepts', () => {
  const around = { node: ['10.1.0.254'], nameServer: '10.1.0.253', services: ['10.0.0.0/24'] };
  const { ingress } = rules({
    podSelector: {},
    policyTypes: ['Ingress'],
    ingress: [
      {
        from: [clients, { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/24'] } }],
        ports: [{ port: 80, endPort: 90 }],
      },
    ],
  });
  expect(filterScript({ ingress, egress: undefined }, around).split('\n')).toEqual([
    'add table inet wherry',
    'delete table inet wherry',
    'add table inet wherry',
    'add chain inet wherry in { type filter hook input priority 0; policy drop; }',
    'add rule inet wherry in iif lo accept',
    'add rule inet wherry in ct state established,related accept',
    'add rule inet wherry in ip saddr { 10.1.0.254 } accept',
    'add rule inet wherry in ip saddr { 10.1.0.2 } tcp dport 80-90 accept',
    'add rule inet wherry in ip saddr 10.0.0.0/8 ip saddr != { 10.1.0.0/24 } tcp dport 80-90 accept',
    '',
  ]);
  expect(filterScript({ ingress: undefined, egress: undefined }, around)).toBe(
    'add table inet wherry\ndelete table inet wherry\n',
  );
});

it.runIf(optimized)('a selector is read once for all pods and all changes', () => {
  let readings = 0;
  const podSelector = {
    get matchLabels() {
      readings++;
      return { app: 'web' };
    },
  };
  const policies = world({ podSelector, ingress: [{ from: [{ podSelector }] }] });
  for (let i = 0; i < 3; i++) for (const one of pods) rulesOf(one, policies);
  expect(readings).toBe(1);
});
