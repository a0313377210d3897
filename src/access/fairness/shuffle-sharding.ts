/**
 * Shuffle sharding: every flow gets a few of many queues, by its hash, and its requests wait in the shortest of them.
 * So a flow that fills its queues nearly always leaves other flows a queue of their own.
 */
import { createHash } from 'node:crypto';

/** The numbers of the queues of a flow, all different. */
export function handOf(flow: string, queues: number, handSize: number): number[] {
  let hash = createHash('sha256').update(flow).digest().readBigUInt64LE();
  const hand: number[] = [];
  for (let i = 0; i < handSize; i++) {
    const left = BigInt(queues - i);
    let card = Number(hash % left);
    hash /= left;
    // The card is an index into the queues that are not in the hand yet.
    for (const taken of [...hand].sort((a, b) => a - b)) if (taken <= card) card++;
    hand.push(card);
  }
  return hand;
}
