/**
 * Doors: where clients come in. A door listens at an address, reads requests from its connections and hands them to
 * the server; it says which requests may come in, who sends them, and what their users may do. A server may have
 * several; what happens to a request behind its door is the same for all (`http/chain.ts`).
 */
import type { IncomingMessage } from 'node:http';
import type { Authorizer } from '../../api/access.ts';
import type { StatusError } from '../../api/errors.ts';
import type { User } from '../../api/user.ts';
import type { Upgrade } from '../../streams/tunnel.ts';
import type { ApiRequest, ApiResponse } from '../http/context.ts';
import type { LimitKeeper } from '../http/limits.ts';
import type { Overload } from '../http/traffic.ts';

export interface Door {
  /** Where clients reach it: scheme, address and port. Known once it listens. */
  readonly url: string;
  /** The user that the audit log names for requests that were refused before they were identified. */
  readonly unidentified: User;
  /** Decides what the users of this door may do. */
  readonly authorizer: Authorizer;

  /** Begins to take requests. Rejects when the address cannot be had. */
  listen(reception: Reception): Promise<void>;

  /** Throws what the client is told when a request may not come in here, no matter who sends it. */
  admit(request: ApiRequest): void;

  /**
   * The user who sent a request; throws a 401 when that cannot be told. A door that has to wait for it bounds that time.
   * @param token sent by a browser as a WebSocket subprotocol; the request does not hold it any more
   */
  identify(request: ApiRequest, token: string | undefined): User | Promise<User>;

  /** Takes no more connections and closes those without a request. Safe to call before `listen`. */
  shut(): void;

  /** Closes the connections that are left, once clients had a moment for their last answers. Needs `shut` first. */
  close(): Promise<void>;
}

/** Where doors bring their requests. Times are when a request arrived, on the monotonic clock. */
export interface Reception {
  readonly keeper: LimitKeeper;

  request(door: Door, request: ApiRequest, response: ApiResponse, begunMs: number): void;

  /** A request for another protocol, to be answered on its bare socket. */
  upgrade(door: Door, request: IncomingMessage, upgrade: Upgrade, begunMs: number): void;

  /** A request that the door refuses by itself; counted and audited like the others. */
  turnAway(
    door: Door,
    request: ApiRequest,
    response: ApiResponse,
    begunMs: number,
    why: StatusError | Overload,
  ): void;
}
