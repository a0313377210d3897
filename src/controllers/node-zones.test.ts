/** Proves at which rate the nodes of a zone are given up, by how many of them are lost. */
import { describe, expect, it } from 'vitest';
import type { Node } from '../api/generated/types.ts';
import { NodeZones } from './node-zones.ts';
import { defaultSettings } from './shared/controller.ts';

const node = (name: string, status: string, labels: Record<string, string> = {}): Node => ({
  metadata: { name, labels },
  status: { conditions: [{ type: 'Ready', status }] },
});
const inZone = (zone: string) => ({ 'topology.kubernetes.io/zone': zone });

/** Nodes `n0` and so on, of which the first ones are lost. */
function zones(lost: number, ready: number, settings: object = {}): NodeZones {
  const made = new NodeZones({ ...defaultSettings, ...settings });
  for (let i = 0; i < lost + ready; i++) made.set(node(`n${i}`, i < lost ? 'Unknown' : 'True'));
  return made;
}
const { POSITIVE_INFINITY: never } = Number;

describe('a zone', () => {
  it('gives up its nodes one after the other, every ten seconds', () => {
    const normal = zones(2, 2);
    expect(normal.allLost).toBe(false);
    expect(normal.take('n0', 1_000)).toBe(0);
    expect(normal.take('n1', 1_000)).toBe(10_000);
    expect(normal.take('n1', 5_500)).toBe(5_500);
    expect(normal.take('n1', 11_000)).toBe(0);
    // The clock was set back.
    expect(normal.take('n1', 2_000)).toBe(0);
  });

  it('gives up no node when many are lost, and slowly if it is large', () => {
    // 3 of 5 are 60 %; 2 of 3 are too few to tell.
    expect(zones(3, 2).take('n0', 0)).toBe(never);
    expect(zones(3, 3).take('n0', 0)).toBe(0);
    expect(zones(2, 1).take('n0', 0)).toBe(0);
    // 28 of 50 are 56 %, and 50 nodes are not many yet.
    expect(zones(28, 22).take('n0', 0)).toBe(never);
    const large = zones(29, 22);
    expect(large.take('n0', 0)).toBe(0);
    expect(large.take('n1', 1_000)).toBe(99_000);
    // When enough nodes are back, the usual rate holds, from the last one on.
    for (let i = 10; i < 20; i++) large.set(node(`n${i}`, 'True'));
    expect(large.take('n1', 1_000)).toBe(9_000);
  });

  it('is normal again when the settings allow more', () => {
    expect(zones(3, 2, { unhealthyZoneThreshold: 0.7 }).take('n0', 0)).toBe(0);
    expect(zones(3, 2, { largeClusterSizeThreshold: 4 }).take('n0', 0)).toBe(0);
    expect(zones(1, 2, { nodeEvictionRate: 0 }).take('n0', 0)).toBe(never);
    const quick = zones(2, 2, { nodeEvictionRate: 4 });
    expect([quick.take('n0', 0), quick.take('n1', 0)]).toEqual([0, 250]);
  });

  it('that is lost as a whole moves its pods to the others, unless these are lost, too', () => {
    const made = zones(0, 0);
    for (const name of ['a1', 'a2', 'a3', 'a4']) made.set(node(name, 'Unknown', inZone('a')));
    made.set(node('b1', 'True', inZone('b')));
    expect(made.allLost).toBe(false);
    expect([made.take('a1', 0), made.take('a2', 0)]).toEqual([0, 10_000]);
    made.set(node('b1', 'False', inZone('b')));
    expect(made.allLost).toBe(true);
    expect([made.take('a2', 60_000), made.take('b1', 60_000)]).toEqual([never, never]);
    made.set(node('b1', 'True', inZone('b')));
    expect(made.take('a2', 60_000)).toBe(0);
  });

  it('is that of region and zone, under the older labels, too', () => {
    const made = zones(0, 0);
    const older = (zone: string) => ({ 'failure-domain.beta.kubernetes.io/zone': zone });
    made.set(node('a1', 'Unknown', { ...inZone('z'), 'topology.kubernetes.io/region': 'a' }));
    made.set(node('b1', 'Unknown', { ...inZone('z'), 'topology.kubernetes.io/region': 'b' }));
    made.set(node('c1', 'Unknown', older('c')));
    made.set(node('c2', 'Unknown', inZone('c')));
    made.set(node('d1', 'True'));
    expect(['a1', 'b1', 'c1', 'c2'].map((name) => made.take(name, 0))).toEqual([0, 0, 0, 10_000]);
  });

  it('does not count nodes that are excluded, nor those that are gone', () => {
    const made = zones(1, 1);
    made.set(node('n1', 'True', { 'node.kubernetes.io/exclude-disruption': '' }));
    expect(made.allLost).toBe(true);
    made.set(node('n2', 'True'));
    expect(made.allLost).toBe(false);
    made.remove('n2');
    expect(made.allLost).toBe(true);
    made.remove('n0');
    expect(made.allLost).toBe(false);
    expect(made.take('n0', 0)).toBe(never);
  });

  it('tells once when its state is another', () => {
    const made = zones(2, 2);
    expect([made.hasChanged, made.hasChanged]).toEqual([true, false]);
    made.set(node('n2', 'Unknown'));
    expect([made.hasChanged, made.hasChanged]).toEqual([true, false]);
    made.set(node('n2', 'False'));
    expect(made.hasChanged).toBe(false);
    made.set(node('n3', 'False'));
    expect(made.hasChanged).toBe(true);
  });
});
