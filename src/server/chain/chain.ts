/**
 * The chain: every request of every door takes the same steps, in this order, one file each. A step lets the request
 * go on or throws the error for the client; after the last step, and after every error, the request is completed.
 *
 * | step         | file                      | what it does                                        | error exit                   |
 * |--------------|---------------------------|-----------------------------------------------------|------------------------------|
 * | (the door)   | `doors/`                  | takes the connection, reads the request             | 400, 405, 408, 417, 429, 431 |
 * | parse        | `server/chain/parsing.ts`        | request info: what the method and URL ask for       | 400                          |
 * | enter        | `server/chain/entry.ts`          | may a request like this come in here at all?        | 403, 503                     |
 * | authenticate | `server/chain/authentication.ts` | who sends it?                                       | 401                          |
 * | auditReceipt | `server/chain/auditing.ts`       | has it written down as received, if a policy says so | 500                         |
 * | impersonate  | `server/chain/impersonation.ts`  | as whom does the sender want to act?                | 400, 403                     |
 * | share        | `server/chain/sharing.ts`        | waits for its turn, on doors with flow control      | 429                          |
 * | authorize    | `server/chain/authorization.ts`  | may this user do that?                              | 403                          |
 * | limit        | `server/chain/limiting.ts`       | counts it in, says how long its answer may take     | 429, 400                     |
 * | auditStart   | `server/chain/auditing.ts`       | has the beginning of answers that last written down |                              |
 * | (instrument) | `src/testing/`            | in clusters of the test kit: records, and makes faults | any                       |
 * | route        | `server/chain/routing.ts`        | finds its handler                                   | 404, 405, 400                |
 * | answer       | `server/chain/answering.ts`      | runs the handler                                    | any, 504                     |
 * | (error exit) | `server/chain/failing.ts`        | tells the client what was thrown                    |                              |
 * | (completion) | `server/chain/completion.ts`     | counts it out; metrics and audit                    |                              |
 *
 * Request info comes before anything is decided, so that every refusal is counted and audited under its verb and
 * resource. Authentication and impersonation come before limits, because they are per user. Routing comes after
 * authorization, so that a 404 does not show which resources exist to users without access.
 *
 * Upgrade requests take the same steps. They differ only in how they are answered: on their raw socket, by the
 * handlers of watches, connections and proxies (`context.upgrade`), and in `failing.ts`. Requests of the express lane
 * do not differ, nor do watches that share a WebSocket (`objects/watch-connection.ts`): each is a request.
 */
import type { IncomingMessage } from 'node:http';
import type { StatusError } from '../../api/errors/errors.ts';
import { RequestTrace } from '../../request-trace.ts';
import type { Upgrade } from '../../streams/dial/tunnel.ts';
import { type ApiRequest, type ApiResponse, RequestContext } from '../http/context.ts';
import type { Door, PrefetchRevision, Reception } from '../http/door.ts';
import type { LimitKeeper } from '../http/limits.ts';
import { unreadInfo } from '../http/request-info.ts';
import type { Overload } from '../http/traffic.ts';
import { answer } from './answering.ts';
import { auditReceipt, auditStart, noteUpgradeCode } from './auditing.ts';
import { authenticate } from './authentication.ts';
import { authorize } from './authorization.ts';
import { complete, record } from './completion.ts';
import { enter } from './entry.ts';
import { fail } from './failing.ts';
import { impersonate } from './impersonation.ts';
import { limit } from './limiting.ts';
import { parse } from './parsing.ts';
import { route } from './routing.ts';
import { share } from './sharing.ts';
import type { Services, Step } from './step.ts';

const steps: readonly Step[] = [
  parse,
  enter,
  authenticate,
  auditReceipt,
  impersonate,
  share,
  authorize,
  limit,
  auditStart,
  route,
  answer,
];

export class Chain implements Reception {
  /** Requests that are waiting for a promise. */
  #underWay = 0;
  /** Called when no request is under way any more. */
  #onRest = (): void => undefined;

  readonly #steps: readonly Step[];

  constructor(private readonly services: Services) {
    const { instrument } = services;
    this.#steps = instrument ? steps.flatMap((step) => (step === route ? [instrument, route] : step)) : steps;
  }

  get keeper(): LimitKeeper {
    return this.services.keeper;
  }

  get prefetchRevision(): PrefetchRevision | undefined {
    return this.services.prefetchRevision;
  }

  isForwarded(url: string): boolean {
    return this.services.router.isForwarded(url);
  }

  request(door: Door, request: ApiRequest, response: ApiResponse, begunMs: number): void {
    const context = new RequestContext(door, request, response, begunMs);
    // Users of other doors do not learn what else the server is busy with.
    if (this.services.traces) context.trace = new RequestTrace(begunMs, door.showsTraces === true);
    this.#begin(context);
  }

  upgrade(door: Door, request: IncomingMessage, upgrade: Upgrade, begunMs: number): void {
    const context = new RequestContext(door, request, undefined as never, begunMs, upgrade);
    noteUpgradeCode(context, this.services);
    this.#begin(context);
  }

  turnAway(
    door: Door,
    request: ApiRequest,
    response: ApiResponse,
    begunMs: number,
    why: StatusError | Overload,
  ): void {
    const context = new RequestContext(door, request, response, begunMs);
    context.info = unreadInfo(request.method!);
    fail(context, why, this.services);
    record(context, response.statusCode, this.services);
  }

  /** Refuses all new requests. */
  close(): void {
    this.services.closing = true;
  }

  /** Resolves when no request is under way any more. */
  rest(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRest = resolve;
      if (this.#underWay === 0) resolve();
    });
  }

  #begin(context: RequestContext): void {
    let work: undefined | void | Promise<void>;
    try {
      work = this.#take(context, 0);
    } catch (error) {
      fail(context, error, this.services);
    }
    if (!work) return complete(context, this.services);
    this.#underWay++;
    work.then(
      () => this.#end(context),
      (error: unknown) => {
        fail(context, error, this.services);
        this.#end(context);
      },
    );
  }

  /** Runs the steps from an index on; synchronously, without a promise, as long as no step returns one. */
  #take(context: RequestContext, from: number): void | Promise<void> {
    const steps = this.#steps;
    for (let at = from; at < steps.length; at++) {
      const waiting = steps[at]!(context, this.services);
      if (waiting) return at === steps.length - 1 ? waiting : this.#takeAfter(waiting, context, at + 1);
    }
  }

  async #takeAfter(waiting: Promise<void>, context: RequestContext, from: number): Promise<void> {
    await waiting;
    return this.#take(context, from);
  }

  #end(context: RequestContext): void {
    try {
      complete(context, this.services);
    } catch (error) {
      // This promise is not awaited: a rejection would be unhandled and end the process.
      this.services.report(error as Error);
    }
    if (--this.#underWay === 0) this.#onRest();
  }
}
