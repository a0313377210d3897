/** Only services of type LoadBalancer have ingress points, each with an IP or a hostname. */
import { expect, test } from 'vitest';
import type { LoadBalancerIngress } from '../../generated/types.ts';
import { decoded, texts } from '../../kinds/core/service.fixture.ts';
import { service as kind } from '../../kinds/core/service.ts';

const problems = (type: string, ingress: LoadBalancerIngress[]): string[] => {
  const service = decoded({ type });
  service.status = { loadBalancer: { ingress } };
  const old = { metadata: {}, spec: { type } };
  kind.changes.status!.prepare!(service, old, { now: '' });
  return texts(kind.changes.status!.validate!(service, old));
};
const at = 'status.loadBalancer.ingress';

test('ingress points are for balancers', () => {
  expect(problems('NodePort', [{ ip: '1.2.3.4' }])).toEqual([
    `${at}: Forbidden: may only be used when \`spec.type\` is 'LoadBalancer'`,
  ]);
  expect(problems('NodePort', [])).toEqual([]);
  expect(problems('LoadBalancer', [{ ip: '1.2.3.4' }, { hostname: 'a.b' }])).toEqual([]);
});

test('addresses and names', () => {
  expect(problems('LoadBalancer', [{ ip: 'x' }])).toEqual([
    `${at}[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
  ]);
  expect(problems('LoadBalancer', [{ hostname: '1.2.3.4' }])).toEqual([
    `${at}[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address`,
  ]);
  expect(problems('LoadBalancer', [{ hostname: 'A' }])[0]).toMatch(
    /ingress\[0\]\.hostname: Invalid value: "A": a lowercase RFC 1123 subdomain/,
  );
});

test('the mode goes with an address', () => {
  expect(problems('LoadBalancer', [{ hostname: 'a.b', ipMode: 'VIP' }])).toEqual([
    `${at}[0].ipMode: Forbidden: may not be specified when \`ip\` is not set`,
  ]);
  expect(problems('LoadBalancer', [{ ip: '1.2.3.4', ipMode: 'Foo' }])).toEqual([
    `${at}[0].ipMode: Unsupported value: "Foo": supported values: "Proxy", "VIP"`,
  ]);
});

test('the mode is filled in from the stored type, whatever the body says', () => {
  const service = decoded({});
  service.spec = { type: 'LoadBalancer' };
  service.status = { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } };
  kind.changes.status!.prepare!(service, service, { now: '' });
  expect(service.status.loadBalancer!.ingress).toEqual([{ ip: '1.2.3.4', ipMode: 'VIP' }]);
});
