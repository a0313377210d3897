/**
 * The pace of TLS handshakes, by address. OpenSSL verifies all certificates that a client sends, also those of unknown authorities,
 * before anybody is asked, and in one turn of the event loop all that have arrived: 100 kB of certificates with keys that are
 * made for it take half a second, forty connections at once took fourteen. So when one was costly, all other handshakes of
 * its address are cut before the event loop gets to them, and the address waits before its next. Handshakes that cost what
 * they usually do never wait for one another, because clients behind a proxy or on one machine share an address.
 */
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { costlyKeyOf } from './costly-key.ts';

/** A handshake of an address that has sent a costly flight, and that does not get on, makes room for the next. */
const stalledMs = 2_000;
/** After a costly flight nothing of its address begins for this long. */
const pauseMs = 10_000;
/** Addresses whose costly flights are remembered. */
const offendersMax = 1_000;
/** Certificates beside a client's own. Kubernetes' clients send none or one. */
const intermediatesMax = 8;
/** Bytes behind the ClientHello of a handshake that fails: those that fail for other reasons send no certificates. */
const failedBytesMax = 4_000;

interface Flight {
  readonly socket: Socket;
  readonly port: number | undefined;
  readonly helloBytes: number;
  readonly begunMs: number;
}

export class FlightPace {
  /** Flights by address and port. */
  readonly #underWay = new Map<string, Map<number | undefined, Flight>>();
  /** Until when addresses wait; the oldest offence is the first. */
  readonly #offenders = new Map<string, number>();

  /** @param free called when a handshake of an address has ended */
  constructor(
    private readonly free: (address: string) => void,
    private readonly nowMs: () => number,
  ) {}

  /** Milliseconds until a handshake of an address may begin; 0: now. Makes room when one does not get on. */
  waitMs(address: string): number {
    const nowMs = this.nowMs();
    const untilMs = this.#offenders.get(address);
    if (untilMs === undefined) return 0;
    if (untilMs > nowMs) return untilMs - nowMs;
    // From then on one at a time.
    const [oldest] = this.#underWay.get(address)?.values() ?? [];
    if (!oldest) return 0;
    const leftMs = oldest.begunMs + stalledMs - nowMs;
    if (leftMs > 0) return leftMs;
    this.#end(address, oldest);
    oldest.socket.destroy();
    return 0;
  }

  /** @param helloBytes what was read of the connection so far */
  begin(address: string, socket: Socket, helloBytes: number): void {
    const port = socket.remotePort;
    const flight = { socket, port, helloBytes, begunMs: this.nowMs() };
    const own = this.#underWay.get(address) ?? new Map<number | undefined, Flight>();
    this.#underWay.set(address, own.set(port, flight));
    socket.once('close', () => this.#broke(address, flight));
  }

  /** A handshake is over. @param leaf the certificate of the client */
  finish(address: string, port: number | undefined, leaf: X509Certificate | undefined): void {
    const flight = this.#find(address, port);
    if (flight) this.#end(address, flight);
    if (leaf && isCostly(leaf)) this.#offended(address);
    this.free(address);
  }

  /** A handshake has failed. Its connection closes later: the event loop gets to others that have sent something first. */
  fail(address: string, port: number | undefined): void {
    const flight = this.#find(address, port);
    if (flight) this.#broke(address, flight);
  }

  #broke(address: string, flight: Flight): void {
    if (!this.#end(address, flight)) return;
    if (flight.socket.bytesRead - flight.helloBytes > failedBytesMax) this.#offended(address);
    this.free(address);
  }

  #find(address: string, port: number | undefined): Flight | undefined {
    return this.#underWay.get(address)?.get(port);
  }

  /** False when it has ended before. */
  #end(address: string, flight: Flight): boolean {
    const own = this.#underWay.get(address);
    if (own?.get(flight.port) !== flight) return false;
    own.delete(flight.port);
    if (own.size === 0) this.#underWay.delete(address);
    return true;
  }

  #offended(address: string): void {
    this.#offenders.delete(address);
    this.#offenders.set(address, this.nowMs() + pauseMs);
    if (this.#offenders.size > offendersMax) this.#offenders.delete(this.#offenders.keys().next().value!);
    const others = this.#underWay.get(address);
    this.#underWay.delete(address);
    // What they have sent is not read any more, also when it has arrived.
    for (const { socket } of others?.values() ?? []) socket.destroy();
  }
}

/** Whether a client sent more certificates than clients do, or keys that no client has. */
function isCostly(leaf: X509Certificate): boolean {
  let next: X509Certificate | undefined = leaf;
  for (let count = 0; next; next = next.issuerCertificate)
    if (count++ > intermediatesMax || costlyKeyOf(next)) return true;
  return false;
}
