/**
 * The pace of TLS handshakes, by address. OpenSSL verifies all certificates that a client sends, whoever has signed them,
 * before anybody is asked, and in one turn of the event loop all that have arrived: 100 kB of certificates with keys that are
 * made for it take half a second, forty connections at once took fourteen. So few handshakes of an address are under way
 * at a time, and an address that sent such a flight waits before its next.
 */
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { costlyKey } from '../../pki/costly-key.ts';

/** Handshakes of one address under way, and of one that has sent a costly flight. */
const underWayMax = 4;
const offenderMax = 1;
/** A handshake that does not get on makes room after this time for others of its address. */
const stalledMs = 2_000;
/** After a costly flight nothing of its address begins for this long. */
const pauseMs = 10_000;
/** Addresses whose costly flights are remembered. */
const offendersMax = 1_000;
/** Certificates beside a client's own. Kubernetes' clients send none or one. */
const intermediatesMax = 8;
/** Bytes behind the ClientHello of a handshake that fails: those that fail for other reasons send no certificates. */
const failedBytesMax = 1_500;

interface Flight {
  readonly socket: Socket;
  readonly helloBytes: number;
  readonly begunMs: number;
}

export class FlightPace {
  readonly #underWay = new Map<string, Set<Flight>>();
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
    if (untilMs !== undefined && untilMs > nowMs) return untilMs - nowMs;
    const own = this.#underWay.get(address);
    if (!own || own.size < (untilMs === undefined ? underWayMax : offenderMax)) return 0;
    const [oldest] = own;
    const leftMs = oldest!.begunMs + stalledMs - nowMs;
    if (leftMs > 0) return leftMs;
    this.#end(address, oldest!);
    oldest!.socket.destroy();
    return 0;
  }

  /** @param helloBytes what was read of the connection so far */
  begin(address: string, socket: Socket, helloBytes: number): void {
    const flight = { socket, helloBytes, begunMs: this.nowMs() };
    const own = this.#underWay.get(address);
    if (own) own.add(flight);
    else this.#underWay.set(address, new Set([flight]));
    socket.once('close', () => {
      if (!this.#end(address, flight)) return;
      if (socket.bytesRead - helloBytes > failedBytesMax) this.#offended(address);
      this.free(address);
    });
  }

  /** A handshake is over. @param leaf the certificate of the client */
  finish(address: string, port: number | undefined, leaf: X509Certificate | undefined): void {
    for (const flight of this.#underWay.get(address) ?? [])
      if (flight.socket.remotePort === port) this.#end(address, flight);
    if (leaf && isCostly(leaf)) this.#offended(address);
    this.free(address);
  }

  /** False when it has ended before. */
  #end(address: string, flight: Flight): boolean {
    const own = this.#underWay.get(address);
    if (!own?.delete(flight)) return false;
    if (own.size === 0) this.#underWay.delete(address);
    return true;
  }

  #offended(address: string): void {
    this.#offenders.delete(address);
    this.#offenders.set(address, this.nowMs() + pauseMs);
    if (this.#offenders.size > offendersMax) this.#offenders.delete(this.#offenders.keys().next().value!);
  }
}

/** Whether a client sent more certificates than clients do, or keys that no client has. */
function isCostly(leaf: X509Certificate): boolean {
  let next: X509Certificate | undefined = leaf;
  for (let count = 0; next; next = next.issuerCertificate)
    if (count++ > intermediatesMax || costlyKey(next.publicKey)) return true;
  return false;
}
