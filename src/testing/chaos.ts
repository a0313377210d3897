/** Chaos: faults and accidents at random, the same ones for the same seed and the same order of requests. */
import type { Timer, Timers } from '../timers.ts';
import type { Accidents, FaultEffect } from './faults.ts';
import { Randomness } from './randomness.ts';
import { checkMatch, matches, type RequestFacts, type RequestMatch } from './request-match.ts';

export interface ChaosOptions {
  /** Which requests may fail, or be the moment of an accident. Default: all but those of the nodes of this process. */
  readonly match?: RequestMatch;
  /** Share of requests at which something happens. Default 0.1. */
  readonly rate?: number;
  /**
   * What may happen. Default: answers of 429, 500 and 503, delays, closed connections, lost answers, watches that end,
   * containers that are killed, and nodes that are gone for a minute.
   */
  readonly effects?: readonly ChaosRule[];
}

/** What happens to a request; or, while that request is served as usual, to something else. Exactly one of these. */
export interface ChaosRule extends Pick<FaultEffect, 'status' | 'delayMs' | 'close' | 'loseAnswer'> {
  /** One of the open watches ends without a word. */
  readonly cutWatch?: boolean;
  /** One of the open watches ends with 410 Gone. */
  readonly expireWatch?: boolean;
  /** One of the running containers is killed. */
  readonly killContainer?: boolean;
  /** One of the nodes of this process loses power, and comes back after this long on the cluster's clock. */
  readonly dropNodeMs?: number;
}

/** What accidents can happen to. */
export interface Victims {
  readonly accidents: Accidents;
  readonly timers: Timers;
  /** The names of the nodes that run. */
  nodes(): readonly string[];
  containers(): readonly { namespace: string; name: string; container: string }[];
  /** Functions that end one of the open watches each. */
  watches(): readonly ((rule: ChaosRule) => void)[];
}

const nodeGoneMs = 60_000;
const effectsMax = 1_000;

const defaultEffects: readonly ChaosRule[] = [
  { status: 429 },
  { status: 500 },
  { status: 503 },
  { delayMs: 50 },
  { close: true },
  { loseAnswer: true },
  { cutWatch: true },
  { expireWatch: true },
  { killContainer: true },
  { dropNodeMs: nodeGoneMs },
];

const effectNames: readonly string[] = [...new Set(defaultEffects.flatMap((rule) => Object.keys(rule)))];

export class Chaos {
  readonly #randomness: Randomness;
  readonly #match: RequestMatch;
  readonly #rate: number;
  readonly #effects: readonly ChaosRule[];
  /** Nodes without power, and when they get it back. */
  readonly #gone = new Map<string, Timer | undefined>();

  constructor(
    seed: number | string,
    { match = {}, rate = 0.1, effects = defaultEffects }: ChaosOptions,
    private readonly victims: Victims,
  ) {
    checkMatch(match);
    if (!(rate >= 0 && rate <= 1)) throw new RangeError('the rate of chaos is a number from 0 to 1');
    checkEffects(effects);
    this.#randomness = new Randomness(seed);
    this.#match = match;
    this.#rate = rate;
    this.#effects = effects;
  }

  /** What happens to the next request, if anything. Accidents happen at once. */
  next(facts: RequestFacts): ChaosRule | undefined {
    if (!matches(this.#match, facts)) return undefined;
    if (this.#randomness.fraction() >= this.#rate) return undefined;
    const rule = this.#effects[this.#randomness.below(this.#effects.length)]!;
    if (rule.cutWatch || rule.expireWatch) this.#oneOf(this.victims.watches())?.(rule);
    else if (rule.killContainer) this.#killOne();
    else if (rule.dropNodeMs !== undefined) this.#dropOne(rule.dropNodeMs);
    else return rule;
    return undefined;
  }

  /** Nodes that are gone come back. */
  end(): void {
    for (const name of [...this.#gone.keys()]) this.#restart(name);
  }

  #oneOf<T>(list: readonly T[]): T | undefined {
    return list.length ? list[this.#randomness.below(list.length)] : undefined;
  }

  #killOne(): void {
    const victim = this.#oneOf(this.victims.containers());
    if (victim) this.victims.accidents.killContainer(victim, victim.container);
  }

  #dropOne(goneMs: number): void {
    const { accidents, timers, nodes } = this.victims;
    const name = this.#oneOf(nodes().filter((node) => !this.#gone.has(node)));
    if (name === undefined) return;
    this.#gone.set(
      name,
      timers.set(() => this.#restart(name), goneMs),
    );
    // A cluster that is being closed has no nodes to stop.
    accidents.dropNode(name).catch(() => undefined);
  }

  #restart(name: string): void {
    this.victims.timers.clear(this.#gone.get(name));
    this.#gone.delete(name);
    this.victims.accidents.restartNode(name).catch(() => undefined);
  }
}

/** Options may come from outside. */
function checkEffects(effects: readonly ChaosRule[]): void {
  if (!Array.isArray(effects) || effects.length === 0 || effects.length > effectsMax)
    throw new RangeError(`chaos has from 1 to ${effectsMax} effects`);
  for (const rule of effects as readonly unknown[]) {
    const [name = '', ...more] = Object.keys(rule ?? {});
    if (more.length || !effectNames.includes(name))
      throw new TypeError(`an effect of chaos has exactly one of ${effectNames.join(', ')}`);
    const value = (rule as Record<string, unknown>)[name];
    if (value !== true && !(typeof value === 'number' && value >= 0 && value <= 3_600_000))
      throw new TypeError(`${JSON.stringify(value)} is no value of ${name}`);
  }
}
