/**
 * A priority level: the requests of its flows that are under way, and those that wait.
 *
 * enter ──a seat is free──▶ under way ──leave──▶ over
 * │                          ▲
 * ├──▶ waiting in a queue ───┘ in turn, queue by queue
 * │         └──▶ refused: it has waited too long
 * └──▶ refused: the queue is full, or the level has none
 *
 * Most requests are answered in the tick of the event loop in which they arrive. So few are under way at any moment,
 * although together they can use all of the processor. Therefore a level also bounds how many requests it starts per
 * tick: as many as took a few milliseconds in earlier ticks. The others wait for the next tick, where every queue gets
 * its turn.
 */
import type { PriorityLevelConfiguration } from '../../api/generated/types.ts';
import { LastMemo } from '../../memo.ts';
import { handOf } from './shuffle-sharding.ts';

/** Target duration of the requests started in one tick. */
const tickMaxMs = 4;
/** Maximum of Retry-After. */
const retryAfterSecondsMax = 32;

interface Waiter {
  readonly start: () => void;
  readonly refuse: (why: Refusal) => void;
  /** Whether its client has gone. */
  readonly isGone: () => boolean;
  timer: NodeJS.Timeout | undefined;
}

interface Queue {
  readonly waiters: Waiter[];
}

/** Why a request was refused, in Kubernetes' words. */
export type Refusal = 'queue-full' | 'concurrency-limit' | 'time-out' | 'cancelled';

export interface LevelSettings {
  /** Number of seats of all levels together. */
  readonly seats: number;
  readonly waitMaxMs: number;
  readonly nowMs: () => number;
}

export class PriorityLevel {
  #configuration!: PriorityLevelConfiguration;
  #queues = new Map<number, Queue>();
  /** Queue numbers in the order of their turns. */
  #turns: number[] = [];
  #waiting = 0;
  #underWay = 0;
  /** Requests started in this tick. */
  #started = 0;
  /** Maximum number of requests started per tick. */
  #budget = 1;
  #tickBegunMs = 0;
  #isTickScheduled = false;
  #nominal = 0;
  #refusedSecond = 0;
  #refusals = 0;
  #retryAfterSeconds = 1;
  #dispatched = 0;
  readonly #refused = new Map<Refusal, number>();
  /** The queues of a flow. */
  #hand!: LastMemo<string, readonly number[]>;

  constructor(
    configuration: PriorityLevelConfiguration,
    private readonly settings: LevelSettings,
    /** Seats that other levels can lend now. */
    private readonly lent: (borrower: PriorityLevel) => number,
  ) {
    this.configure(configuration, 0);
  }

  /** @param sharesAll shares of all levels together */
  configure(configuration: PriorityLevelConfiguration, sharesAll: number): void {
    this.#configuration = configuration;
    const { queues = 0, handSize = 0 } = configuration.spec?.limited?.limitResponse?.queuing ?? {};
    this.#hand = new LastMemo((flow) => handOf(flow, queues, handSize));
    this.#nominal = sharesAll > 0 ? Math.ceil((this.settings.seats * this.shares) / sharesAll) : 0;
    this.#budget = Math.max(this.#nominal, 1);
    this.#dispatch();
  }

  get name(): string {
    return this.#configuration.metadata.name!;
  }

  get uid(): string {
    return this.#configuration.metadata.uid ?? '';
  }

  get isExempt(): boolean {
    return this.#configuration.spec?.type === 'Exempt';
  }

  get shares(): number {
    const { limited, exempt } = this.#configuration.spec ?? {};
    return (limited ?? exempt)?.nominalConcurrencyShares ?? 0;
  }

  get nominal(): number {
    return this.#nominal;
  }

  get underWay(): number {
    return this.#underWay;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Numbers of requests that were started and refused since the start. */
  get dispatched(): number {
    return this.#dispatched;
  }

  get refused(): ReadonlyMap<Refusal, number> {
    return this.#refused;
  }

  get retryAfterSeconds(): number {
    return this.#retryAfterSeconds;
  }

  /** Seats it uses now beyond its own. */
  get borrowed(): number {
    return this.isExempt ? 0 : Math.max(this.#underWay - this.#nominal, 0);
  }

  /** Seats it does not need now and may lend. */
  get lendable(): number {
    const { limited, exempt } = this.#configuration.spec ?? {};
    const percent = (limited ?? exempt)?.lendablePercent ?? 0;
    if (this.#waiting > 0) return 0;
    return Math.min(Math.floor((this.#nominal * percent) / 100), Math.max(this.#nominal - this.#underWay, 0));
  }

  /**
   * Takes a seat; undefined when one was free. Otherwise a promise that resolves when the request gets a seat, and
   * rejects with the error of `refusal` when it is refused. Throws that error when there is no place to wait.
   */
  enter(flow: string, isGone: () => boolean, refusal: () => Error): undefined | Promise<void> {
    if (this.isExempt) {
      this.#underWay++;
      this.#dispatched++;
      return undefined;
    }
    if (this.#waiting === 0 && this.#hasSeat()) {
      this.#start();
      return undefined;
    }
    const { limitResponse } = this.#configuration.spec?.limited ?? {};
    const queuing = limitResponse?.queuing;
    if (limitResponse?.type !== 'Queue' || !queuing) throw this.#refuse('concurrency-limit', refusal);
    const hand = this.#hand.of(flow);
    const lengths = hand.map((number) => this.#queues.get(number)?.waiters.length ?? 0);
    const shortest = lengths.indexOf(Math.min(...lengths));
    if (lengths[shortest]! >= queuing.queueLengthLimit!) throw this.#refuse('queue-full', refusal);
    return this.#wait(hand[shortest]!, isGone, refusal);
  }

  leave(): void {
    this.#underWay--;
    if (this.#waiting > 0) this.#scheduleTick();
  }

  #hasSeat(): boolean {
    if (this.#started >= this.#budget) return false;
    return this.#underWay < this.#nominal || this.#mayBorrow();
  }

  #mayBorrow(): boolean {
    const percent = this.#configuration.spec?.limited?.borrowingLimitPercent;
    const most = percent === undefined ? Number.POSITIVE_INFINITY : (this.#nominal * percent) / 100;
    return this.borrowed < most && this.lent(this) > 0;
  }

  #start(): void {
    this.#underWay++;
    this.#dispatched++;
    this.#started++;
    this.#scheduleTick();
  }

  #wait(number: number, isGone: () => boolean, refusal: () => Error): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = this.#queues.get(number) ?? { waiters: [] };
      if (queue.waiters.length === 0) {
        this.#queues.set(number, queue);
        this.#turns.push(number);
      }
      const waiter: Waiter = {
        start: resolve,
        refuse: (why) => reject(this.#refuse(why, refusal)),
        isGone,
        timer: undefined,
      };
      waiter.timer = setTimeout(() => this.#giveUp(number, waiter), this.settings.waitMaxMs);
      queue.waiters.push(waiter);
      this.#waiting++;
      this.#scheduleTick();
    });
  }

  #giveUp(number: number, waiter: Waiter): void {
    const queue = this.#queues.get(number)!;
    queue.waiters.splice(queue.waiters.indexOf(waiter), 1);
    if (queue.waiters.length === 0) this.#forget(number);
    this.#waiting--;
    waiter.refuse('time-out');
  }

  #forget(number: number): void {
    this.#queues.delete(number);
    this.#turns = this.#turns.filter((one) => one !== number);
  }

  /** Schedules the end of the tick, once per tick in which requests were started or wait. */
  #scheduleTick(): void {
    if (this.#isTickScheduled) return;
    this.#isTickScheduled = true;
    this.#tickBegunMs = performance.now();
    setImmediate(() => {
      this.#isTickScheduled = false;
      this.#adjustBudget(performance.now() - this.#tickBegunMs);
      this.#started = 0;
      this.#dispatch();
    });
  }

  /** Doubles the budget after a quick tick; after a long one, reduces it to what fitted into the time. */
  #adjustBudget(tookMs: number): void {
    if (this.#started === 0) return;
    const wanted = tookMs > tickMaxMs ? Math.floor((this.#started * tickMaxMs) / tookMs) : this.#budget * 2;
    this.#budget = Math.max(1, Math.min(wanted, this.#nominal));
  }

  /** Starts waiting requests, one of each queue in turn. */
  #dispatch(): void {
    while (this.#waiting > 0 && this.#hasSeat()) {
      const number = this.#turns.shift()!;
      const queue = this.#queues.get(number)!;
      const waiter = queue.waiters.shift()!;
      clearTimeout(waiter.timer);
      if (queue.waiters.length > 0) this.#turns.push(number);
      else this.#queues.delete(number);
      this.#waiting--;
      if (waiter.isGone()) {
        waiter.refuse('cancelled');
        continue;
      }
      this.#start();
      waiter.start();
    }
  }

  /**
   * Refuses a request. Retry-After doubles with every second in which as many requests are refused as the level has
   * seats.
   */
  #refuse(why: Refusal, refusal: () => Error): Error {
    this.#refused.set(why, (this.#refused.get(why) ?? 0) + 1);
    const second = Math.floor(this.settings.nowMs() / 1000);
    if (second !== this.#refusedSecond) {
      const isPressed = this.#refusals >= this.#nominal && second === this.#refusedSecond + 1;
      this.#retryAfterSeconds = isPressed ? Math.min(this.#retryAfterSeconds * 2, retryAfterSecondsMax) : 1;
      this.#refusedSecond = second;
      this.#refusals = 0;
    }
    this.#refusals++;
    return refusal();
  }
}
