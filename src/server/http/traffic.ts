/**
 * Traffic: counts and limits the requests under way.
 *
 * - Reads and writes are counted separately, as in Kubernetes. Each door without flow control has its own bound on
 * both. On doors with flow control, priority levels decide who may go on, and requests are only counted here.
 * - Files of the dashboard and probes take no seat of a priority level; they have a bound of their own.
 * - Watches and connections are long-running, so they have limits of their own: in total, per client, and for the share
 * that one user or one address may take of what the others leave.
 */

import { FairShare } from '../../access/fairness/fair-share.ts';
import { StatusError } from '../../api/errors/errors.ts';
import { isMaster } from '../../api/kind/access.ts';
import { composedKey } from '../../composed-key.ts';
import type { RequestContext } from './context.ts';
import type { Door } from './door.ts';
import type { LimitKeeper, LimitName } from './limits.ts';
import type { Lasting } from './request-info.ts';

/** Retry-After of a refused request. */
const retryAfterSeconds = 1;
/** Maximum number of dashboard files and probes being answered at once, on doors with flow control. */
const asidesMax = 100;
/** Maximum bytes of answers that clients have not read, over all connections of doors with flow control. */
const unreadBytesMax = 512 * 1024 * 1024;
/** Maximum number of bodies still arriving, over all connections of doors with flow control. */
const bodiesMax = 2_000;
/** Maximum bytes of these bodies that have arrived. */
const bodyBytesMax = 512 * 1024 * 1024;

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

/** The requests of one door that are under way. */
interface Counts {
  readOnly: number;
  mutating: number;
  aside: number;
}

/** Open long-running requests of one lane (watches or connections). */
class Open {
  /**
   * Number of requests of administrators and of doors without flow control: they are let in whatever the others use.
   */
  privileged = 0;
  readonly #byUser: FairShare;
  readonly #byAddress: FairShare;

  constructor(all: number, each: number) {
    const fraction = Math.min(1, each / all);
    this.#byUser = new FairShare(all, fraction);
    this.#byAddress = new FairShare(all, fraction);
  }

  get count(): number {
    return this.privileged + this.#byUser.taken;
  }

  take(user: string, address: string): boolean {
    if (!this.#byUser.take(user)) return false;
    if (this.#byAddress.take(address)) return true;
    this.#byUser.give(user);
    return false;
  }

  give(user: string, address: string): void {
    this.#byUser.give(user);
    this.#byAddress.give(address);
  }
}

/** The client that a request is counted for. */
export interface Client {
  /** Lane, address and user. */
  readonly key: string;
  readonly user: string;
  readonly address: string;
  readonly isPrivileged: boolean;
}

export class Traffic {
  readonly #counts = new Map<Door, Counts>();
  #lastDoor: Door | undefined;
  #lastCounts: Counts | undefined;
  readonly #open: Record<Lasting, Open>;
  /** By lane, user and address. */
  readonly #clients = new Map<string, number>();
  readonly #unread = new FairShare(unreadBytesMax);
  readonly #bodies = new FairShare(bodiesMax);
  readonly #bodyBytes = new FairShare(bodyBytesMax);

  constructor(private readonly keeper: LimitKeeper) {
    const { limits } = keeper;
    this.#open = {
      watch: new Open(limits.watchersMax, limits.watchersPerClientMax),
      connection: new Open(limits.connectionsMax, limits.connectionsPerClientMax),
    };
  }

  underWay(lane: Lane): number {
    if (isLong(lane)) return this.#open[lane].count;
    let sum = 0;
    for (const counts of this.#counts.values()) sum += counts[lane];
    return sum;
  }

  /** Counts a request; false when there are too many. Allocates nothing, as it runs for every request. */
  enter(context: RequestContext, lane: 'readOnly' | 'mutating'): boolean {
    const { door } = context;
    const counts = this.#countsOf(door);
    if (door.fairness === undefined) {
      const { limits } = this.keeper;
      if (lane === 'readOnly') {
        if (counts.readOnly >= limits.readsInFlightMax) return this.#full('readsInFlightMax');
      } else if (counts.mutating >= limits.writesInFlightMax) return this.#full('writesInFlightMax');
    }
    counts[lane]++;
    context.lane = lane;
    return true;
  }

  /** Counts a file of the dashboard or a probe on a door with flow control; false when there are too many. */
  enterAside(context: RequestContext): boolean {
    const counts = this.#countsOf(context.door);
    if (counts.aside >= asidesMax) return this.#full('readsInFlightMax');
    counts.aside++;
    counts.readOnly++;
    context.lane = 'readOnly';
    context.isAside = true;
    return true;
  }

  #countsOf(door: Door): Counts {
    if (door === this.#lastDoor) return this.#lastCounts!;
    let counts = this.#counts.get(door);
    if (!counts) {
      counts = { readOnly: 0, mutating: 0, aside: 0 };
      this.#counts.set(door, counts);
    }
    this.#lastDoor = door;
    this.#lastCounts = counts;
    return counts;
  }

  #full(name: LimitName): false {
    this.keeper.reached(name);
    return false;
  }

  /** Counts a watch or a connection, or throws the error for the client. */
  enterLong(context: RequestContext, lane: Lasting): void {
    const { all, each, what } = bounds[lane];
    const { limits } = this.keeper;
    const client = clientOf(context, lane);
    const open = this.#open[lane];
    const own = this.#clients.get(client.key) ?? 0;
    if (client.isPrivileged && open.privileged >= limits[all])
      throw this.#refusal(all, `too many ${what} are open`);
    if (own >= limits[each]) throw this.#refusal(each, `this client has too many ${what} open`);
    if (client.isPrivileged) open.privileged++;
    else if (!open.take(client.user, client.address)) throw this.#refusal(all, `too many ${what} are open`);
    this.#clients.set(client.key, own + 1);
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
    if (lane === undefined) return;
    context.lane = undefined;
    if (isLong(lane)) {
      if (client!.isPrivileged) this.#open[lane].privileged--;
      else this.#open[lane].give(client!.user, client!.address);
      const own = this.#clients.get(client!.key)! - 1;
      if (own > 0) this.#clients.set(client!.key, own);
      else this.#clients.delete(client!.key);
      return;
    }
    const counts = this.#countsOf(context.door);
    counts[lane]--;
    if (context.isAside) counts.aside--;
  }

  /**
   * Counts bytes of an answer that its client has not read yet. Returns how to give them back; undefined when its user
   * has too many already, and the answer has to be cut off.
   */
  holdUnread(context: RequestContext, bytes: number): (() => void) | undefined {
    return held(this.#unread, context, bytes);
  }

  /** Counts a body that has not arrived yet. */
  holdBody(context: RequestContext): BodyRoom | undefined {
    const give = held(this.#bodies, context, 1);
    return give && new BodyRoom(this.#bodyBytes, context, give);
  }
}

/** Room for a body while it arrives. */
export class BodyRoom {
  readonly #given: (() => void)[];

  constructor(
    private readonly share: FairShare,
    private readonly context: RequestContext,
    give: () => void,
  ) {
    this.#given = [give];
  }

  /** Takes room for some more bytes; false when the room is used up. */
  add(bytes: number): boolean {
    const give = held(this.share, this.context, bytes);
    if (give) this.#given.push(give);
    return give !== undefined;
  }

  /** Call it once. */
  leave(): void {
    for (const give of this.#given) give();
  }
}

const nothing = (): void => undefined;

function held(share: FairShare, context: RequestContext, count: number): (() => void) | undefined {
  if (isPrivileged(context)) return nothing;
  const owner = composedKey(context.user.name, context.request.socket.remoteAddress ?? '');
  return share.take(owner, count) ? () => share.give(owner, count) : undefined;
}

/**
 * Whether others cannot take the room of this request: it came by a door for this machine, or is an administrator's.
 */
const isPrivileged = ({ door, user }: RequestContext): boolean =>
  door.fairness === undefined || isMaster(user);

function clientOf(context: RequestContext, lane: Lasting): Client {
  const user = context.user.name;
  const address = context.request.socket.remoteAddress ?? '';
  return { key: composedKey(lane, address, user), user, address, isPrivileged: isPrivileged(context) };
}
