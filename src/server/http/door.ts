/**
 * Doors: a door listens at an address, reads requests from its connections and hands them to the server. It decides
 * which requests may enter, who their user is, and which authorizer applies. A server may have several doors; after
 * the door all requests are treated alike (`chain/chain.ts`).
 */
import type { IncomingMessage } from 'node:http';
import type { FlowControl } from '../../access/fairness/flow-control.ts';
import type { StatusError } from '../../api/errors/errors.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';
import type { Store } from '../../store/store.ts';
import type { Upgrade } from '../../streams/dial/tunnel.ts';
import type { ApiRequest, ApiResponse, RequestContext } from './context.ts';
import type { LimitKeeper } from './limits.ts';
import type { Overload } from './traffic.ts';

/** Asks the store for the newest revision before the requests that need it are handled. */
export type PrefetchRevision = NonNullable<Store['prefetchRevision']>;

export interface Door {
  /** URL for clients: scheme, address and port. Known once the door listens. */
  readonly url: string;
  /** The user in the audit log for requests that were refused before authentication. */
  readonly unidentified: User;
  /** Flow control for the users of this door; absent: no priorities. */
  readonly fairness?: FlowControl | undefined;
  /** Whether answers tell how long the phases of their request took, if that is measured. */
  readonly showsTraces?: boolean;
  /** Whether its users are on this machine, and may open ports of it. */
  readonly opensPorts?: boolean;
  /** Decides what the users of this door may do. */
  readonly authorizer: Authorizer;

  /** Starts to accept requests. Rejects when it cannot listen at the address. */
  listen(reception: Reception): Promise<void>;

  /** Throws the error for the client when a request may not enter here, before its user is known. */
  admit(request: ApiRequest): void;

  /**
   * The user of a request; throws a 401 when the request identifies no user. A door that has to wait for an answer needs a timeout.
   * @param token sent by a browser as a WebSocket subprotocol; it has been removed from the request
   */
  identify(context: RequestContext, token: string | undefined): User | Promise<User>;

  /** Stops accepting connections and closes idle ones. Safe to call before `listen`. */
  shut(): void;

  /** Closes the remaining connections after a short time for their last answers. Call `shut` first. */
  close(): Promise<void>;
}

/** Receives the requests of doors. Times are the arrival of a request, on the monotonic clock. */
export interface Reception {
  readonly keeper: LimitKeeper;

  /**
   * Asks for the newest revision ahead of requests that have arrived; absent where the store knows it without asking.
   */
  readonly prefetchRevision?: PrefetchRevision | undefined;

  /** Whether a path belongs to another server, to which requests are forwarded as they come. */
  isForwarded(url: string): boolean;

  request(door: Door, request: ApiRequest, response: ApiResponse, begunMs: number): void;

  /** An upgrade request, to be answered on its raw socket. */
  upgrade(door: Door, request: IncomingMessage, upgrade: Upgrade, begunMs: number): void;

  /** A request that the door itself refuses; counted and audited like all others. */
  turnAway(
    door: Door,
    request: ApiRequest,
    response: ApiResponse,
    begunMs: number,
    why: StatusError | Overload,
  ): void;
}
