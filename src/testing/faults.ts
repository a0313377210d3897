/**
 * Faults: rules that make requests fail the way they fail in production, and accidents of nodes and containers. The
 * rules are asked in the order in which they were added; the first that matches a request decides.
 */
import { IncomingMessage } from 'node:http';
import { StatusError, watchExpired } from '../api/errors/errors.ts';
import type { RequestContext } from '../server/http/context.ts';
import type { WatchStream } from '../server/objects/watch-stream.ts';
import { Chaos, type ChaosOptions, type ChaosRule, type Victims } from './chaos.ts';
import { checkMatch, matches, type RequestFacts, type RequestMatch } from './request-match.ts';

/** Rules at a time, and the longest delay of an answer. */
const rulesMax = 1_000;
const delayMaxMs = 600_000;

/** What happens to a request. Exactly one of these. */
export interface FaultEffect {
  /** The answer is this HTTP code, as a Status; nothing is done. */
  readonly status?: number;
  /** The request waits this long, in milliseconds, and is then answered as usual. */
  readonly delayMs?: number;
  /** The connection is closed without an answer; nothing is done. */
  readonly close?: boolean;
  /** The request is carried out, and its connection is closed without the answer. */
  readonly loseAnswer?: boolean;
  /** A watch ends without a word: those that are open, and those that begin. */
  readonly cutWatch?: boolean;
  /** A watch ends with 410 Gone: those that are open, and those that begin. */
  readonly expireWatch?: boolean;
  /** The store refuses writes of these objects, as if the disk were full, from every writer. */
  readonly refuseWrites?: boolean;
}

export interface FaultRule extends RequestMatch, FaultEffect {
  /** How many requests it is for. Default: all, until it is removed. */
  readonly times?: number;
  /** How many matching requests pass before the first that it is for. Default 0. */
  readonly after?: number;
  /** With `status`: the reason, message and seconds for `Retry-After` of the answer. */
  readonly reason?: string;
  readonly message?: string;
  readonly retryAfterSeconds?: number;
}

/** A rule that was added. */
export interface Fault {
  readonly id: string;
  readonly rule: FaultRule;
  /** How many requests it has been applied to. */
  readonly hits: number;
  remove(): void;
}

/** Faults of a cluster. */
export interface Faults extends Accidents {
  /** Adds a rule. Throws when it has no effect, or several. */
  add(rule: FaultRule): Fault;
  /** The rules that are in force. */
  list(): Fault[];
  /** Removes all rules, lets delayed requests go on, and ends chaos. */
  clear(): void;
  /**
   * Lets requests, watches, containers and nodes fail at random, in the same way for the same seed and the same order of
   * requests.
   */
  chaos(seed: number | string, options?: ChaosOptions): void;
}

/** Accidents that are not about requests. */
export interface Accidents {
  /** Stops a node of this process as a power failure would: its containers are gone, and the API is not told. */
  dropNode(name: string): Promise<void>;
  /** Starts it again, or a new simulated node. */
  restartNode(name: string): Promise<void>;
  /** Kills a container; default: the first of the pod. */
  killContainer(pod: { namespace: string; name: string }, container?: string): void;
}

const effects = [
  'status',
  'delayMs',
  'close',
  'loseAnswer',
  'cutWatch',
  'expireWatch',
  'refuseWrites',
] as const satisfies readonly (keyof FaultEffect)[];

class ActiveFault implements Fault {
  hits = 0;
  #passed = 0;

  constructor(
    readonly id: string,
    readonly rule: FaultRule,
    readonly match: RequestMatch,
    private readonly leave: (fault: ActiveFault) => void,
  ) {}

  remove(): void {
    this.leave(this);
  }

  /** Whether it is for this request; counts it then. */
  takes(facts: RequestFacts): boolean {
    if (!matches(this.match, facts)) return false;
    if (this.#passed++ < (this.rule.after ?? 0)) return false;
    if (++this.hits >= (this.rule.times ?? Number.POSITIVE_INFINITY)) this.leave(this);
    return true;
  }
}

export class InjectedFaults implements Faults {
  readonly #active = new Set<ActiveFault>();
  readonly #watches = new Map<WatchStream, { context: RequestContext; facts: RequestFacts }>();
  /** Let requests that wait go on. */
  readonly #delayed = new Set<() => void>();
  #chaos: Chaos | undefined;
  #ids = 0;

  constructor(private readonly victims: Omit<Victims, 'watches'>) {}

  add(rule: FaultRule): Fault {
    const match = checkedRule(rule);
    if (this.#active.size >= rulesMax) throw new RangeError(`there are ${rulesMax} faults already`);
    const fault = new ActiveFault(String(++this.#ids), rule, match, (gone) => this.#active.delete(gone));
    this.#active.add(fault);
    if (rule.cutWatch || rule.expireWatch)
      for (const [stream, { context, facts }] of [...this.#watches])
        if (this.#active.has(fault) && fault.takes(facts)) endWatch(rule, context, stream);
    return fault;
  }

  list(): Fault[] {
    return [...this.#active];
  }

  clear(): void {
    this.#active.clear();
    for (const proceed of [...this.#delayed]) proceed();
    this.#chaos?.end();
    this.#chaos = undefined;
  }

  chaos(seed: number | string, options: ChaosOptions = {}): void {
    const chaos = new Chaos(seed, options, { ...this.victims, watches: () => this.#openWatches() });
    this.#chaos?.end();
    this.#chaos = chaos;
  }

  dropNode(name: string): Promise<void> {
    return this.victims.accidents.dropNode(name);
  }

  restartNode(name: string): Promise<void> {
    return this.victims.accidents.restartNode(name);
  }

  killContainer(pod: { namespace: string; name: string }, container?: string): void {
    this.victims.accidents.killContainer(pod, container);
  }

  /** Whether a write of an object is refused. */
  refusesWrite(factsOf: () => RequestFacts): boolean {
    for (const fault of this.#active) if (fault.rule.refuseWrites && fault.takes(factsOf())) return true;
    return false;
  }

  /** Does to a request what the first matching rule says. */
  apply(context: RequestContext, facts: RequestFacts): void | Promise<void> {
    const rule = this.#ruleFor(facts);
    if (!rule) return;
    const { status, delayMs } = rule;
    if (delayMs !== undefined) return this.#delay(delayMs);
    if (rule.loseAnswer) return loseAnswer(context);
    const fail = (): never => {
      if (status !== undefined) throw faultStatus(rule as FaultRule, status);
      disconnect(context);
      throw new StatusError(499, undefined, 'the connection was closed by a fault');
    };
    return bodyCame(context)?.then(fail) ?? fail();
  }

  /** A watch begins. */
  watched(context: RequestContext, facts: RequestFacts, stream: WatchStream): void {
    this.#watches.set(stream, { context, facts });
    void stream.ended.then(() => this.#watches.delete(stream));
    for (const fault of this.#active) {
      if (!fault.rule.cutWatch && !fault.rule.expireWatch) continue;
      if (!fault.takes(facts)) continue;
      // After the stream has begun, so that its header is sent.
      setImmediate(() => endWatch(fault.rule, context, stream));
      return;
    }
  }

  #delay(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const proceed = (): void => {
        clearTimeout(timer);
        this.#delayed.delete(proceed);
        resolve();
      };
      const timer = setTimeout(proceed, ms);
      this.#delayed.add(proceed);
    });
  }

  /** The open watches of clients. Those of nodes are left alone: they would only connect again. */
  #openWatches(): ((rule: ChaosRule) => void)[] {
    return [...this.#watches]
      .filter(([, { facts }]) => matches({}, facts))
      .map(
        ([stream, { context }]) =>
          (rule) =>
            endWatch(rule, context, stream),
      );
  }

  #ruleFor(facts: RequestFacts): FaultRule | ChaosRule | undefined {
    for (const fault of this.#active) {
      const { cutWatch, expireWatch, refuseWrites } = fault.rule;
      if (!cutWatch && !expireWatch && !refuseWrites && fault.takes(facts)) return fault.rule;
    }
    return this.#chaos?.next(facts);
  }
}

function checkedRule(rule: FaultRule): RequestMatch {
  const { times, after, reason, message, retryAfterSeconds, ...rest } = rule;
  const found = effects.filter((name) => rest[name] !== undefined && (rest[name] as unknown) !== false);
  if (found.length !== 1) throw new TypeError(`a fault has exactly one of ${effects.join(', ')}`);
  const match = Object.fromEntries(
    Object.entries(rest).filter(([name]) => !(effects as readonly string[]).includes(name)),
  );
  checkMatch(match);
  checkNumber('status', rule.status, 100, 599);
  checkNumber('delayMs', rule.delayMs, 0, delayMaxMs);
  checkNumber('times', times, 1, Number.MAX_SAFE_INTEGER);
  checkNumber('after', after, 0, Number.MAX_SAFE_INTEGER);
  checkNumber('retryAfterSeconds', retryAfterSeconds, 0, delayMaxMs);
  for (const text of [reason, message])
    if (text !== undefined && typeof text !== 'string')
      throw new TypeError('the reason and the message of a fault are texts');
  return match;
}

function checkNumber(name: string, value: number | undefined, min: number, max: number): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= min && value <= max))
    throw new RangeError(`${name} of a fault is a whole number from ${min} to ${max}`);
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function faultStatus({ reason, message, retryAfterSeconds }: FaultRule, code: number): StatusError {
  return new StatusError(
    code,
    reason ?? reasons[code],
    message ?? 'a fault was injected by the test',
    retryAfterSeconds === undefined ? undefined : { retryAfterSeconds },
  );
}

function disconnect({ upgrade, response }: RequestContext): void {
  if (upgrade) upgrade.socket.destroy();
  else response.destroy();
}

/** Closes the connection when the answer is to be sent. */
function loseAnswer(context: RequestContext): void {
  const { response } = context;
  if (context.upgrade) return;
  response.writeHead = () => disconnect(context);
  response.write = () => false;
  response.end = () => disconnect(context);
}

function endWatch(
  rule: Pick<FaultEffect, 'expireWatch'>,
  context: RequestContext,
  stream: WatchStream,
): void {
  if (rule.expireWatch) stream.fail(watchExpired(0, 0).status);
  else {
    disconnect(context);
    stream.end();
  }
}

/** How long a fault waits for a body; a client may never send it. */
const bodyWaitMs = 5_000;

/** Waits for a body that comes in pieces, so that the log of requests has it; undefined when no wait is needed. */
function bodyCame({ request }: RequestContext): Promise<void> | undefined {
  if (!(request instanceof IncomingMessage) || request.complete) return undefined;
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, bodyWaitMs);
    const over = (): void => {
      clearTimeout(timer);
      resolve();
    };
    request.on('data', () => {});
    request.once('end', over).once('close', over);
  });
}
