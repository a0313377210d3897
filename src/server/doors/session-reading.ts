/**
 * Reading of HTTP/2 sessions. A client can begin a hundred requests with one packet, and end them by closing its
 * connection; each costs a tenth of a millisecond before anybody has decided about it. The event loop would read all
 * sessions that have sent something in one turn, so forty clients could hold everybody up for half a second. So when a
 * turn has had enough, the sessions that were not read yet wait for the next one, and those whose requests still wait
 * to be handled for longer: what they send stays with their clients.
 */
import type { TLSSocket } from 'node:tls';

/** Requests that begin or end in one turn of the event loop, before the sessions wait. One packet may exceed it. */
const turnMax = 24;

export interface ReadSession {
  readonly socket: TLSSocket;
  /** Requests that were read and are not handled yet. */
  readonly backlog: number;
  /** Open requests. */
  readonly streams: number;
}

/** What reads the socket, below Node's streams: Node reads HTTP/2 without them. */
interface Handle {
  readStart(): void;
  readStop(): void;
}

const handleOf = ({ socket }: ReadSession): Handle | undefined =>
  socket.destroyed ? undefined : (socket as unknown as { _handle?: Handle })._handle;

export class SessionReading {
  readonly #sessions = new Set<ReadSession>();
  readonly #stopped = new Set<ReadSession>();
  #inTurn = 0;
  #isAwaited = false;

  /** Whether further requests may begin in this turn. */
  get hasRoom(): boolean {
    return this.#inTurn < turnMax;
  }

  add(session: ReadSession): void {
    this.#sessions.add(session);
  }

  remove(session: ReadSession): void {
    this.#sessions.delete(session);
    this.#stopped.delete(session);
  }

  /** Reads nothing more of a session. */
  stop(session: ReadSession): void {
    this.remove(session);
    handleOf(session)?.readStop();
  }

  /** Called when a request begins or ends. */
  note(): void {
    this.#await();
    if (++this.#inTurn !== turnMax) return;
    for (const session of this.#sessions) {
      handleOf(session)?.readStop();
      this.#stopped.add(session);
    }
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(this.#goOn);
  }

  readonly #goOn = (): void => {
    this.#isAwaited = false;
    this.#inTurn = 0;
    if (this.#stopped.size === 0) return;
    const ready = [...this.#stopped].filter(({ backlog }) => backlog === 0);
    // Those that ask for little are read first.
    for (const session of ready.sort((a, b) => a.streams - b.streams)) {
      this.#stopped.delete(session);
      handleOf(session)?.readStart();
    }
    if (this.#stopped.size > 0) this.#await();
  };
}
