/**
 * First flights: what clients send to begin TLS. To answer one takes a signature and a key exchange, about a
 * millisecond, and the event loop would answer all that arrived in one turn before anything else: a hundred connections
 * at once would hold everybody up for a tenth of a second. So TLS begins on a connection when its ClientHello is
 * complete; then addresses take turns, few begin in one turn of the event loop, and an address whose handshakes are costly
 * waits (`flight-pace.ts`).
 */
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { FlightPace } from './flight-pace.ts';

/** Handshakes that begin in one turn of the event loop, and time after which no further one does. */
const turnMax = 4;
const turnMaxMs = 2;
/** Only so many bytes of a ClientHello are waited for: TLS refuses a longer one. */
const helloBytesMax = 16 * 1024;

const recordHeaderBytes = 5;
const handshakeHeaderBytes = 4;
const handshakeType = 22;

interface Flight {
  readonly socket: Socket;
  readonly helloBytes: number;
  readonly begin: () => void;
}

export class FirstFlights {
  /** Connections whose ClientHello has arrived, by address; the first address has the next turn. */
  readonly #waiting = new Map<string, Flight[]>();
  /** The same of addresses that have to wait until a handshake of theirs has ended, or some time. */
  readonly #held = new Map<string, { readonly flights: Flight[]; readonly timer: NodeJS.Timeout }>();
  readonly #pace: FlightPace;
  #isAwaited = false;

  /**
   * @param begin starts TLS on a connection
   * @param maxMs for a ClientHello to arrive
   */
  constructor(
    private readonly begin: (socket: Socket) => void,
    private readonly maxMs: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.#pace = new FlightPace((address) => this.#release(address), nowMs);
  }

  /** A handshake is over. */
  finish({ remoteAddress = '', remotePort }: TLSSocket, leaf: X509Certificate | undefined): void {
    this.#pace.finish(remoteAddress, remotePort, leaf);
  }

  /** A handshake has failed. */
  fail({ remoteAddress = '', remotePort }: TLSSocket): void {
    this.#pace.fail(remoteAddress, remotePort);
  }

  take(socket: Socket): void {
    const parts: Buffer[] = [];
    const cut = (): void => void socket.destroy();
    const late = setTimeout(cut, this.maxMs).unref();
    const look = (): void => {
      for (let part = socket.read(); part !== null; part = socket.read()) parts.push(part);
      const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      if (!isWhole(bytes)) return;
      clearTimeout(late);
      socket.off('readable', look).off('end', cut);
      const begin = (): void => {
        socket.off('error', cut).unshift(bytes);
        this.begin(socket);
      };
      this.#add({ socket, helloBytes: bytes.length, begin });
    };
    socket
      .on('readable', look)
      .on('end', cut)
      .on('error', cut)
      .once('close', () => clearTimeout(late));
  }

  #add(flight: Flight): void {
    const { remoteAddress = '' } = flight.socket;
    const own = this.#held.get(remoteAddress)?.flights ?? this.#waiting.get(remoteAddress);
    if (own) own.push(flight);
    else this.#waiting.set(remoteAddress, [flight]);
    this.#await();
  }

  #hold(address: string, flights: Flight[], waitMs: number): void {
    const timer = setTimeout(() => this.#release(address), waitMs).unref();
    this.#held.set(address, { flights, timer });
  }

  #release(address: string): void {
    const held = this.#held.get(address);
    if (!held) return;
    clearTimeout(held.timer);
    this.#held.delete(address);
    this.#waiting.set(address, held.flights);
    this.#await();
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(this.#takeTurns);
  }

  readonly #takeTurns = (): void => {
    this.#isAwaited = false;
    const endMs = this.nowMs() + turnMaxMs;
    for (let begun = 0; begun < turnMax && (begun === 0 || this.nowMs() < endMs); ) {
      const next = this.#waiting.entries().next();
      if (next.done) return;
      const [address, flights] = next.value;
      // The next turn is another address's.
      this.#waiting.delete(address);
      const waitMs = this.#pace.waitMs(address);
      if (waitMs > 0) {
        this.#hold(address, flights, waitMs);
        continue;
      }
      const { socket, helloBytes, begin } = flights.shift()!;
      if (flights.length > 0) this.#waiting.set(address, flights);
      if (socket.destroyed) continue;
      begun++;
      this.#pace.begin(address, socket, helloBytes);
      begin();
    }
    if (this.#waiting.size > 0) this.#await();
  };
}

/** Has a server begin TLS on its connections a few at a time; what listens to them now gets them then. */
export function paced(server: Server, maxMs: number): FirstFlights {
  const byNode = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  const begin = (socket: Socket): void => {
    for (const take of byNode) take.call(server, socket);
  };
  const flights = new FirstFlights(begin, maxMs);
  server.removeAllListeners('connection').on('connection', (socket: Socket) => flights.take(socket));
  server.on('tlsClientError', (_error, socket) => flights.fail(socket));
  return flights;
}

/** Whether a ClientHello is complete, or cannot become one: then TLS refuses it, which costs nothing. */
function isWhole(bytes: Buffer): boolean {
  if (bytes.length >= helloBytesMax) return true;
  let message = 0;
  let expected = handshakeHeaderBytes;
  // A message may be spread over several records.
  for (let at = 0; message < expected; ) {
    if (bytes.length > at && bytes[at] !== handshakeType) return true;
    if (bytes.length < at + recordHeaderBytes) return false;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0) return true;
    at += recordHeaderBytes;
    if (bytes.length < at + length) return false;
    if (message === 0) {
      if (length < handshakeHeaderBytes) return true;
      expected += bytes.readUIntBE(at + 1, 3);
    }
    message += length;
    at += length;
  }
  return true;
}
