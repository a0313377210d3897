/**
 * Shuffle sharding: every flow gets a few queues of many, by its hash, and a request of it waits in the shortest of these.
 * A flow that fills its queues then leaves others nearly always one that it does not share.
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
    // The card counts among those that are not in the hand yet.
    for (const taken of [...hand].sort((a, b) => a - b)) if (taken <= card) card++;
    hand.push(card);
  }
  return hand;
}
