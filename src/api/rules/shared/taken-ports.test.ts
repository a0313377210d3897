/** Proves that ports conflict as on a node, that those of a pod that has gone are free, and that others are not read. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rounds } from '../../../../test/support/tier.ts';
import { anyAddress, type HostPort, TakenPorts } from './taken-ports.ts';

it('agrees with a comparison of all ports, whatever comes and goes', () => {
  const port = fc.record({
    protocol: fc.constantFrom('TCP', 'UDP'),
    ip: fc.constantFrom(anyAddress, '10.0.0.1', '10.0.0.2'),
    port: fc.constantFrom(80, 8080),
  });
  const step = fc.record({ pod: fc.nat(3), ports: fc.array(port, { maxLength: 4 }) });
  const conflict = (a: HostPort, b: HostPort): boolean =>
    a.port === b.port &&
    a.protocol === b.protocol &&
    (a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), port, (steps, wanted) => {
      const taken = new TakenPorts();
      const pods = new Map<number, readonly HostPort[]>();
      for (const { pod, ports } of steps) {
        taken.remove(pods.get(pod) ?? []);
        taken.add(ports);
        pods.set(pod, ports);
      }
      const others = [...pods.values()].flat();
      expect(taken.has(wanted)).toBe(others.some((other) => conflict(other, wanted)));
    }),
    { numRuns: rounds(2000) },
  );
});
