/** Scores: choose among the suitable nodes of a pod. Each score is 0 to 100, and has a weight. */
import type { Taint } from '../../api/generated/types.ts';
import type { Wish } from './filters.ts';
import { nodePreference, tolerates } from './node-affinity.ts';
import type { NodeFacts } from './node-facts.ts';

const weights = { taints: 3, nodeAffinity: 2, spread: 2, podAffinity: 2, fit: 1, balance: 1 };

/** The best node; a random one among equals. */
export function bestOf(
  wish: Wish,
  nodes: readonly NodeFacts[],
  randomBelow: (bound: number) => number,
): NodeFacts {
  if (nodes.length === 1) return nodes[0]!;
  const totals = nodes.map(() => 0);
  // Plain loops: this runs for a hundred nodes with every pod.
  const add = (weight: number, values: readonly number[], scale: (value: number) => number): void => {
    for (let i = 0; i < values.length; i++) totals[i]! += weight * scale(values[i]!);
  };
  const { pod, affinity, spread } = wish;

  const bothers = (taint: Taint): boolean =>
    taint.effect === 'PreferNoSchedule' && !tolerates(pod.tolerations, taint);
  const bothersome = nodes.map(({ taints }) => (taints.length ? taints.filter(bothers).length : 0));
  add(weights.taints, bothersome, fewerIsBetter(bothersome));

  if (pod.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution?.length) {
    const liked = nodes.map((node) => nodePreference(pod, node));
    const most = Math.max(...liked);
    add(weights.nodeAffinity, liked, (value) => (most > 0 ? (value * 100) / most : 0));
  }
  const crowds = nodes.map((node) => spread.crowd(node));
  add(weights.spread, crowds, fewerIsBetter(crowds));
  if (affinity) {
    const liked = nodes.map((node) => affinity.preference(node));
    const least = Math.min(...liked);
    const range = Math.max(...liked) - least;
    add(weights.podAffinity, liked, (value) => (range > 0 ? ((value - least) * 100) / range : 0));
  }
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[i]!;
    const cpu = share(node.cpuForScore + pod.cpuForScore, node.allocatable.get('cpu'));
    const memory = share(node.memoryForScore + pod.memoryForScore, node.allocatable.get('memory'));
    totals[i]! += weights.fit * 50 * (1 - cpu + 1 - memory);
    totals[i]! += weights.balance * 100 * (1 - Math.abs(cpu - memory) / 2);
  }
  return pick(nodes, totals, randomBelow);
}

const fewerIsBetter = (values: readonly number[]): ((value: number) => number) => {
  const most = Math.max(...values);
  return (value) => (most > 0 ? ((most - value) * 100) / most : 100);
};

const share = (used: number, all: number | undefined): number => (all ? Math.min(used / all, 1) : 1);

function pick(
  nodes: readonly NodeFacts[],
  totals: readonly number[],
  randomBelow: (bound: number) => number,
): NodeFacts {
  const highest = Math.max(...totals);
  const best = nodes.filter((_, i) => totals[i]! >= highest - 1e-9);
  return best[best.length === 1 ? 0 : randomBelow(best.length)]!;
}
