/** Proves that ports and disks of pods on a node, of which each may name tens of thousands, are found without a search. */
import { expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { NodeFacts } from './node-facts.ts';
import { type PodFacts, podFacts } from './pod-facts.ts';

const podWith = (name: string, spec: Pod['spec']): PodFacts =>
  podFacts({ metadata: { name, namespace: 'default', uid: name }, spec } as Pod);

/** A list that counts how often one of its members is read. */
function counted<T>(list: readonly T[], read: () => void): readonly T[] {
  return new Proxy(list, {
    get: (target, key, receiver) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) read();
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
}

const count = 1_000;
const numbers = Array.from({ length: count }, (_, at) => at + 1);

it('a pod with many of them is read once, for however many others', () => {
  const node = new NodeFacts('n');
  let reads = 0;
  const read = (): void => void reads++;
  const pod = podWith('first', {
    containers: [
      { name: 'c', image: 'i', ports: numbers.map((port) => ({ containerPort: port, hostPort: port })) },
    ],
    volumes: numbers.map((at) => ({ name: `v${at}`, gcePersistentDisk: { pdName: `d${at}` } })),
  });
  node.add({ ...pod, hostPorts: counted(pod.hostPorts, read), disks: counted(pod.disks, read) });
  const isTaken = (port: number, disk: string): boolean[] => [
    node.portTaken({ protocol: 'TCP', ip: '10.0.0.1', port }),
    node.diskTaken(disk),
  ];
  for (const at of numbers) expect(isTaken(count + at, `gce/e${at}`)).toEqual([false, false]);
  expect(isTaken(count, `gce/d${count}`)).toEqual([true, true]);
  expect(reads).toBe(2 * count);
  node.remove('first');
  expect(isTaken(count, `gce/d${count}`)).toEqual([false, false]);
});

it('two pods may have one disk, which is free when both have gone', () => {
  const node = new NodeFacts('n');
  const volumes = [{ name: 'v', awsElasticBlockStore: { volumeID: 'd' } }];
  for (const name of ['a', 'b']) node.add(podWith(name, { containers: [], volumes }));
  node.remove('a');
  expect(node.diskTaken('aws/d')).toBe(true);
  node.remove('b');
  expect(node.diskTaken('aws/d')).toBe(false);
});

it('claims of a pod are looked at once, however many of its volumes name them', () => {
  const volumes = numbers.map((at) => ({ name: `v${at}`, persistentVolumeClaim: { claimName: 'one' } }));
  expect(podWith('many', { containers: [], volumes }).claims).toEqual(['one']);
});
