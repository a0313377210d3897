/**
 * The express lane of HTTP/2: sessions at a door without `node:http2`, which took as long for a read as all other work on
 * it. With `WHERRY_PLAIN=1` `doors/http2-sessions.ts` serves them with Node's.
 *
 * A client can begin a hundred requests with one packet, and send thousands of small frames. A turn of the event loop has
 * enough after some requests, or some more frames, of all sessions together. Sessions that were not worked off by then
 * wait for the next turn, and those whose requests still wait to be handled for longer; what they send stays with their
 * clients.
 */
import { METHODS } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { FairShare } from '../../access/fairness/fair-share.ts';
import { methodNotAllowed } from '../../api/errors/errors.ts';
import { TurnQueue } from '../../turn-queue.ts';
import type { Door, Reception } from '../http/door.ts';
import type { Arrivals } from '../lane/arrivals.ts';
import { Sheets } from '../lane/sheets.ts';
import { Session } from './session.ts';
import type { SessionKeeper } from './session-keeper.ts';
import {
  endsMax,
  endsPart,
  type Http2Options,
  idleCheckMs,
  idleMaxMs,
  streamsMaxDefault,
} from './session-settings.ts';
import type { StreamRequest } from './stream-request.ts';
import type { StreamResponse } from './stream-response.ts';

/** Requests that begin, or are taken back, in one turn of the event loop. */
const requestsMax = 24;
/** Frames that are read in one turn. */
const framesMax = 2_000;
/** Bytes of headers that are not complete, of all clients together. */
const headBytesMax = 64 * 1024 * 1024;

const knownMethods = new Set(METHODS.filter((method) => method !== 'CONNECT'));

export class Http2Lane implements SessionKeeper {
  readonly sheets = new Sheets();
  readonly heads = new FairShare(headBytesMax);
  readonly endings = new TurnQueue(endsMax, endsPart);
  readonly streamsMax: number;
  readonly #sessions = new Set<Session>();
  readonly #waiting = new Set<Session>();
  readonly #idleTimer: NodeJS.Timeout;
  #requests = 0;
  #frames = 0;
  #isAwaited = false;
  #isShut = false;

  constructor(
    private readonly door: Door,
    private readonly reception: Reception,
    private readonly arrivals: Arrivals,
    options: Http2Options,
    readonly openingMs: number,
  ) {
    this.streamsMax = options.streamsMax || streamsMaxDefault;
    this.#idleTimer = setInterval(() => this.#closeIdle(), idleCheckMs);
    this.#idleTimer.unref();
  }

  take(socket: TLSSocket): void {
    const session = new Session(socket, this);
    this.#sessions.add(session);
    if (this.#isShut) session.leave();
  }

  departed(session: Session): void {
    this.#sessions.delete(session);
    this.#waiting.delete(session);
  }

  /** Takes no more requests; those under way are answered. */
  shut(): void {
    this.#isShut = true;
    clearInterval(this.#idleTimer);
    for (const session of this.#sessions) session.leave();
  }

  closeAll(): void {
    for (const session of this.#sessions) session.cut();
  }

  #closeIdle(): void {
    const untilMs = performance.now() - idleMaxMs;
    for (const session of this.#sessions) if (session.idleSinceMs < untilMs) session.leave();
  }

  hasRoom(): boolean {
    this.#count();
    return this.#requests < requestsMax && this.#frames++ < framesMax;
  }

  note(): void {
    this.#count();
    this.#requests++;
  }

  #count(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(this.#goOn);
  }

  await(session: Session): void {
    this.#waiting.add(session);
    this.#count();
  }

  readonly #goOn = (): void => {
    this.#isAwaited = false;
    this.#requests = 0;
    this.#frames = 0;
    if (this.#waiting.size === 0) return;
    const ready = [...this.#waiting].filter(({ backlog }) => backlog === 0);
    // Those that ask for little are read first.
    for (const session of ready.sort((a, b) => a.streams - b.streams)) {
      if (this.#requests >= requestsMax || this.#frames >= framesMax) break;
      this.#waiting.delete(session);
      session.goOn();
    }
    if (this.#waiting.size > 0) this.#count();
  };

  receive(session: Session, request: StreamRequest, response: StreamResponse): void {
    this.note();
    const begunMs = performance.now();
    const { door, reception } = this;
    if (!knownMethods.has(request.method))
      return reception.turnAway(door, request, response, begunMs, methodNotAllowed());
    session.unread.whenRead(() =>
      this.arrivals.addOf(session.arrivals, () => {
        if (!response.destroyed && !session.isEnding) reception.request(door, request, response, begunMs);
      }),
    );
  }
}
