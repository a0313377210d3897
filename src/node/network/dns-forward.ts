/** Forwards queries for names outside the cluster to the machine's own name servers. */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readFile } from 'node:fs/promises';
import { connect, isIP, isIPv6 } from 'node:net';
import { type DnsQuery, isAnswerTo } from './dns-message.ts';

const answerMs = 2_000;
const pendingMax = 256;
const serversMax = 3;
/** How long the parsed `/etc/resolv.conf` is cached. */
const readMs = 10_000;
const messageBytesMax = 65_535;

export interface NameServer {
  readonly address: string;
  readonly port: number;
}

/** The contents of a resolv.conf. */
export interface ResolverConfig {
  readonly nameservers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

function parseResolvConf(text: string): ResolverConfig {
  const config = { nameservers: [] as string[], searches: [] as string[], options: [] as string[] };
  for (const line of text.split('\n')) {
    const [word, ...values] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (word === 'nameserver' && values[0] && isIP(values[0])) config.nameservers.push(values[0]);
    // The last `search` or `domain` line wins.
    else if (word === 'search' || word === 'domain') config.searches = values;
    else if (word === 'options') config.options.push(...values);
  }
  return config;
}

export const machineResolver = async (): Promise<ResolverConfig> =>
  parseResolvConf(await readFile('/etc/resolv.conf', 'utf8').catch(() => ''));

export class DnsForward {
  readonly #open = new Set<{ close(): void }>();
  #known: readonly NameServer[] = [];
  #readAtMs = Number.NEGATIVE_INFINITY;
  #pending = 0;

  /** Default: the name servers of the machine. */
  constructor(private readonly fixed?: readonly NameServer[]) {}

  /** Whether there is a name server to forward to. */
  async available(): Promise<boolean> {
    return (await this.#servers()).length > 0;
  }

  /** The answer of the first server that gives one, with the id of this query; undefined when none does. */
  async ask(query: DnsQuery, message: Buffer, way: 'udp' | 'tcp'): Promise<Buffer | undefined> {
    if (this.#pending >= pendingMax) return undefined;
    this.#pending++;
    try {
      for (const server of await this.#servers()) {
        const answer = await this.#askServer(server, query, message, way);
        if (answer) return answer;
      }
      return undefined;
    } finally {
      this.#pending--;
    }
  }

  close(): void {
    for (const one of this.#open) one.close();
  }

  async #servers(): Promise<readonly NameServer[]> {
    if (this.fixed) return this.fixed;
    if (performance.now() - this.#readAtMs > readMs) {
      const { nameservers } = await machineResolver();
      this.#known = nameservers.slice(0, serversMax).map((address) => ({ address, port: 53 }));
      this.#readAtMs = performance.now();
    }
    return this.#known;
  }

  /** Sends the query with a random id from a new port, so that an attacker cannot guess both and forge an answer. */
  async #askServer(
    server: NameServer,
    query: DnsQuery,
    message: Buffer,
    way: 'udp' | 'tcp',
  ): Promise<Buffer | undefined> {
    const id = randomInt(65_536);
    const sent = Buffer.from(message);
    sent.writeUInt16BE(id, 0);
    const answer = await new Promise<Buffer | undefined>((resolve) => {
      const exchange = way === 'udp' ? askByDatagram : askByConnection;
      const settle = (found: Buffer | undefined): void => {
        clearTimeout(timer);
        this.#open.delete(closing);
        close();
        resolve(found);
      };
      const closing = { close: () => settle(undefined) };
      const timer = setTimeout(() => settle(undefined), answerMs);
      const close = exchange(
        server,
        sent,
        (found) => {
          if (isAnswerTo(found, id, query)) settle(found);
        },
        () => settle(undefined),
      );
      this.#open.add(closing);
    });
    if (!answer) return undefined;
    const own = Buffer.from(answer);
    own.writeUInt16BE(query.id, 0);
    return own;
  }
}

type Exchange = (
  server: NameServer,
  message: Buffer,
  answered: (answer: Buffer) => void,
  failed: () => void,
) => () => void;

const askByDatagram: Exchange = ({ address, port }, message, answered, failed) => {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  let closed = false;
  // Connect the UDP socket, so that the kernel drops answers from other addresses.
  socket
    .on('error', () => setImmediate(failed))
    .on('message', answered)
    .once('connect', () => socket.send(message))
    .connect(port, address);
  return () => {
    if (!closed) socket.close();
    closed = true;
  };
};

const askByConnection: Exchange = ({ address, port }, message, answered, failed) => {
  const socket = connect({ host: address, port });
  let received = Buffer.alloc(0);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  socket
    .on('error', () => setImmediate(failed))
    .on('close', () => setImmediate(failed))
    .on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]).subarray(0, messageBytesMax + 2);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      answered(received.subarray(2, 2 + received.readUInt16BE(0)));
    })
    .write(Buffer.concat([length, message]));
  return () => socket.destroy();
};
