/**
 * Traffic: counts and limits the requests under way. Reads and writes are counted separately, as in Kubernetes.
 * Watches and connections are long-running, so they are not among those; they have limits of their own, in total and
 * per client.
 */
import { StatusError } from '../../api/errors/errors.ts';
import type { RequestContext } from './context.ts';
import type { LimitKeeper, LimitName } from './limits.ts';
import type { Lasting } from './request-info.ts';

/** Retry-After of a refused request. */
const retryAfterSeconds = 1;

export type Lane = 'readOnly' | 'mutating' | Lasting;

/** Too many requests under way. */
export class Overload extends Error {
  constructor(
    message: string,
    readonly retryAfter = retryAfterSeconds,
  ) {
    super(message);
  }
}

/** Single instances: creating errors with stack traces would cost too much on an overloaded server. */
export const overload = new Overload('too many requests');
const overloads = new Map([[overload.retryAfter, overload]]);

/** One of the same kind that asks clients to wait longer. */
export function overloadFor(retryAfter: number): Overload {
  const known = overloads.get(retryAfter) ?? new Overload(overload.message, retryAfter);
  overloads.set(retryAfter, known);
  return known;
}

const bounds: Readonly<Record<Lasting, { all: LimitName; each: LimitName; what: string }>> = {
  watch: { all: 'watchersMax', each: 'watchersPerClientMax', what: 'watches' },
  connection: {
    all: 'connectionsMax',
    each: 'connectionsPerClientMax',
    what: 'connections to pods and nodes',
  },
};

export const isLong = (lane: Lane | undefined): lane is Lasting => lane === 'watch' || lane === 'connection';

export class Traffic {
  #reads = 0;
  #writes = 0;
  readonly #open: Record<Lasting, number> = { watch: 0, connection: 0 };
  /** By lane, user and address. */
  readonly #clients = new Map<string, number>();

  constructor(private readonly keeper: LimitKeeper) {}

  underWay(lane: Lane): number {
    if (lane === 'readOnly') return this.#reads;
    return lane === 'mutating' ? this.#writes : this.#open[lane];
  }

  /** Counts a request; false when there are too many. Allocates nothing, as it runs for every request. */
  enter(context: RequestContext, lane: 'readOnly' | 'mutating'): boolean {
    const { limits } = this.keeper;
    if (lane === 'readOnly') {
      if (this.#reads >= limits.readsInFlightMax) return this.#full('readsInFlightMax');
      this.#reads++;
    } else {
      if (this.#writes >= limits.writesInFlightMax) return this.#full('writesInFlightMax');
      this.#writes++;
    }
    context.lane = lane;
    return true;
  }

  #full(name: LimitName): false {
    this.keeper.reached(name);
    return false;
  }

  /** Counts a watch or a connection, or throws the error for the client. */
  enterLong(context: RequestContext, lane: Lasting): void {
    const { all, each, what } = bounds[lane];
    const { limits } = this.keeper;
    if (this.#open[lane] >= limits[all]) throw this.#refusal(all, `too many ${what} are open`);
    const client = `${lane} ${context.request.socket.remoteAddress} ${context.user.name}`;
    const own = this.#clients.get(client) ?? 0;
    if (own >= limits[each]) throw this.#refusal(each, `this client has too many ${what} open`);
    this.#open[lane]++;
    this.#clients.set(client, own + 1);
    context.lane = lane;
    context.client = client;
  }

  #refusal(name: LimitName, why: string): StatusError {
    this.keeper.reached(name);
    return new StatusError(429, 'TooManyRequests', `${why}, please try again later`, { retryAfterSeconds });
  }

  /** Releases a request; safe to call twice, and for one that was never counted. */
  leave(context: RequestContext): void {
    const { lane, client } = context;
    context.lane = undefined;
    if (lane === 'readOnly') this.#reads--;
    else if (lane === 'mutating') this.#writes--;
    else if (lane) {
      this.#open[lane]--;
      const own = this.#clients.get(client!)! - 1;
      if (own > 0) this.#clients.set(client!, own);
      else this.#clients.delete(client!);
    }
  }
}
