/** Proves that a mistyped name finds the intended one, and an unrelated one finds none. */
import { expect, it } from 'vitest';
import { nearestName } from './suggestion.ts';

const names = [
  'port',
  'pod-network',
  'pod-range',
  'host',
  'data-dir',
  'in-memory',
  'simulated-nodes',
  'help',
];

it.each([
  ['prot', 'port'],
  ['ports', 'port'],
  ['prt', 'port'],
  ['Port', 'port'],
  ['datadir', 'data-dir'],
  ['data-folder', undefined],
  ['inmemory', 'in-memory'],
  ['simulated', 'simulated-nodes'],
  ['simulated-node', 'simulated-nodes'],
  ['hepl', 'help'],
  ['pod-netwrok', 'pod-network'],
  ['x', undefined],
  ['', undefined],
  ['kubeconfig', undefined],
])('%s means %s', (typed, meant) => {
  expect(nearestName(typed, names)).toBe(meant);
});

it('a very long text means nothing', () => {
  expect(nearestName('p'.repeat(1_000_000), names)).toBeUndefined();
});
