/**
 * The name server of a node: resolves services for its pods, and forwards all other queries to the machine's
 * own name servers. One address, over UDP and TCP.
 */
import type { Socket as DatagramSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import type { Server, Socket } from 'node:net';
import type { ServiceDirectory } from '../../client/service-directory.ts';
import { Pieces } from '../../pieces.ts';
import { DnsForward, type NameServer } from './dns-forward.ts';
import {
  type DnsQuery,
  type DnsRecord,
  encodeRefusal,
  encodeReply,
  parseQuery,
  type Reply,
  recordTypes,
  replyCodes,
} from './dns-message.ts';
import { type Elsewhere, lookUp } from './dns-records.ts';
import { ServiceAddresses } from './service-addresses.ts';
import type { ServiceDoor } from './service-door.ts';

const connectionsMax = 64;
const idleMs = 10_000;
const messageBytesMax = 65_535;
/** Before each message of a connection. */
const lengthBytes = 2;
/** Ports tried when the caller does not choose one. */
const openTriesMax = 20;
/** Maximum number of queries in progress; UDP queries beyond it are dropped, and clients retry those. */
const pendingMax = 512;
/** Maximum length of a chain of CNAMEs. */
const aliasesMax = 4;
const aliasMs = 2_000;
const aliasTtlSeconds = 5;

export interface DnsServerOptions {
  /** Started by its owner, not here. */
  readonly directory: ServiceDirectory;
  readonly door: ServiceDoor;
  readonly onError: (error: Error) => void;
  /** Name servers for all other names; default: those of the machine. */
  readonly upstreams?: readonly NameServer[];
}

export class DnsServer {
  readonly #forward: DnsForward;
  readonly #resolver = new Resolver({ timeout: aliasMs, tries: 1 });
  readonly #connections = new Set<Socket>();
  readonly #addresses: ServiceAddresses;
  #datagrams: DatagramSocket | undefined;
  #server: Server | undefined;
  #pending = 0;

  constructor(private readonly options: DnsServerOptions) {
    const { upstreams } = options;
    this.#forward = new DnsForward(upstreams);
    this.#addresses = new ServiceAddresses(options.directory);
    if (upstreams?.length)
      this.#resolver.setServers(upstreams.map(({ address, port }) => `${address}:${port}`));
  }

  /** Resolves with the port, which is the same for UDP and TCP. */
  async listen(address: string, port = 53): Promise<number> {
    const { onError } = this.options;
    const [datagrams, server] = await this.#open(address, port);
    this.#datagrams = datagrams;
    this.#datagrams.on('error', onError);
    this.#datagrams.on('message', (message, { address, port }) => {
      this.#answer(message, 'udp').then((reply) => {
        if (reply) this.#datagrams?.send(reply, port, address, () => undefined);
      }, onError);
    });
    this.#server = server;
    this.#server.on('error', onError);
    this.#server.on('connection', (socket: Socket) => {
      this.#converse(socket).catch(() => socket.destroy());
    });
    return datagrams.address().port;
  }

  /** Opens UDP and TCP on one port. A port free in one protocol may be taken in the other: then the next is tried. */
  async #open(address: string, port: number): Promise<[DatagramSocket, Server]> {
    const { door } = this.options;
    for (let tries = 1; ; tries++) {
      const datagrams = await door.bind(address, port);
      try {
        return [datagrams, await door.listen(address, datagrams.address().port)];
      } catch (error) {
        datagrams.close();
        if (port !== 0 || tries >= openTriesMax) throw error;
      }
    }
  }

  async close(): Promise<void> {
    this.#forward.close();
    this.#resolver.cancel();
    for (const connection of this.#connections) connection.destroy();
    const datagrams = this.#datagrams;
    this.#datagrams = undefined;
    datagrams?.close();
    this.#server?.close();
  }

  /** Closes the oldest connection of the address that has most of them, so that one pod cannot have them all. */
  #makeRoom(): void {
    const byAddress = new Map<string | undefined, Socket[]>();
    for (const socket of this.#connections) {
      const { remoteAddress } = socket;
      byAddress.set(remoteAddress, [...(byAddress.get(remoteAddress) ?? []), socket]);
    }
    const [oldest] = [...byAddress.values()].reduce((most, one) => (one.length > most.length ? one : most));
    this.#connections.delete(oldest!);
    oldest!.destroy();
  }

  /** Answers the queries of a TCP connection one after the other: a client that asks faster has to wait. */
  async #converse(socket: Socket): Promise<void> {
    socket.on('error', () => undefined);
    this.#connections.add(socket);
    if (this.#connections.size > connectionsMax) this.#makeRoom();
    socket.once('close', () => this.#connections.delete(socket));
    socket.setTimeout(idleMs, () => socket.destroy());
    const received = new Pieces();
    let wanted = lengthBytes;
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      received.add(chunk as Buffer);
      while (received.bytes >= wanted) {
        const all = received.take();
        const end = lengthBytes + all.readUInt16BE(0);
        const isWhole = all.length >= end;
        const rest = isWhole ? all.subarray(end) : all;
        if (rest.length > 0) received.add(rest);
        wanted = isWhole ? lengthBytes : end;
        if (!isWhole) continue;
        const reply = await this.#answer(all.subarray(lengthBytes, end), 'tcp');
        // Close the connection on a malformed query.
        if (!reply || socket.destroyed) return void socket.destroy();
        const head = Buffer.alloc(2);
        head.writeUInt16BE(reply.length);
        const isTaken = socket.write(Buffer.concat([head, reply]));
        // Who sends queries without reading answers would fill the memory, and many that came at once a turn.
        await (isTaken ? turn() : drained(socket));
      }
    }
    socket.end();
  }

  async #answer(message: Buffer, way: 'udp' | 'tcp'): Promise<Buffer | undefined> {
    const query = parseQuery(message);
    if (!query) return undefined;
    if ('code' in query) return encodeRefusal(query);
    const bytesMax = way === 'udp' ? query.datagramBytes : messageBytesMax;
    const found = lookUp(query.question, this.options.directory, this.#addresses);
    if (found && !('alias' in found)) return encoded(query, found, bytesMax);
    // Names of the cluster alone are answered at once, whatever others do not answer.
    if (way === 'udp' && this.#pending >= pendingMax) return undefined;
    this.#pending++;
    try {
      if (found) return encoded(query, await this.#follow(query, found), bytesMax);
      const answer = await this.#forward.ask(query, message, way);
      if (answer) return answer;
      const code = (await this.#forward.available()) ? replyCodes.failed : replyCodes.noName;
      return encoded(query, { code, own: false }, bytesMax);
    } finally {
      this.#pending--;
    }
  }

  /** Follows CNAMEs to their end. */
  async #follow({ question: { type } }: DnsQuery, first: Elsewhere): Promise<Reply> {
    const aliases: DnsRecord[] = [];
    let { alias, target } = first;
    for (let count = 0; count < aliasesMax; count++) {
      aliases.push(alias);
      const labels = target.split('.');
      const found = lookUp({ labels, type }, this.options.directory, this.#addresses);
      if (!found) {
        const addresses = type === recordTypes.A ? await this.#outside(labels) : [];
        return { code: replyCodes.ok, own: true, answers: [...aliases, ...addresses] };
      }
      if (!('alias' in found)) return { ...found, answers: [...aliases, ...(found.answers ?? [])] };
      ({ alias, target } = found);
    }
    return { code: replyCodes.failed, own: true };
  }

  async #outside(name: readonly string[]): Promise<DnsRecord[]> {
    const found = await this.#resolver.resolve4(name.join('.')).catch(() => []);
    return found.map((address) => ({ type: 'A', name, ttl: aliasTtlSeconds, address }));
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Resolves when the client has read what was written, or has gone. */
const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });

/** Encodes the answer, or an error: the API accepts names that are too long for DNS. */
function encoded(query: DnsQuery, reply: Reply, bytesMax: number): Buffer {
  try {
    return encodeReply(query, reply, bytesMax);
  } catch {
    return encodeReply(query, { code: replyCodes.failed, own: reply.own }, bytesMax);
  }
}
