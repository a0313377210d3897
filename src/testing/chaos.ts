/** Chaos: faults at random, the same ones for the same seed and the same order of requests. */
import type { FaultEffect } from './faults.ts';
import { Randomness } from './randomness.ts';
import { checkMatch, matches, type RequestFacts, type RequestMatch } from './requestmatch.ts';

export interface ChaosOptions {
  /** Which requests may fail. Default: all but those of the nodes of this process. */
  readonly match?: RequestMatch;
  /** Share of requests that fail. Default 0.1. */
  readonly rate?: number;
  /** What may happen. Default: answers of 429, 500 and 503, delays, closed connections and lost answers. */
  readonly effects?: readonly ChaosRule[];
}

export type ChaosRule = Pick<FaultEffect, 'status' | 'delayMs' | 'close' | 'loseAnswer'>;

const defaultEffects: readonly ChaosRule[] = [
  { status: 429 },
  { status: 500 },
  { status: 503 },
  { delayMs: 50 },
  { close: true },
  { loseAnswer: true },
];

export class Chaos {
  readonly #randomness: Randomness;
  readonly #match: RequestMatch;
  readonly #rate: number;
  readonly #effects: readonly ChaosRule[];

  constructor(seed: number | string, { match = {}, rate = 0.1, effects = defaultEffects }: ChaosOptions) {
    checkMatch(match);
    if (!(rate >= 0 && rate <= 1)) throw new RangeError('the rate of chaos is a number from 0 to 1');
    if (effects.length === 0) throw new RangeError('chaos needs at least one effect');
    this.#randomness = new Randomness(seed);
    this.#match = match;
    this.#rate = rate;
    this.#effects = effects;
  }

  /** What happens to the next request, if anything. */
  next(facts: RequestFacts): ChaosRule | undefined {
    if (!matches(this.#match, facts)) return undefined;
    if (this.#randomness.fraction() >= this.#rate) return undefined;
    return this.#effects[this.#randomness.below(this.#effects.length)];
  }
}
