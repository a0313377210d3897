/**
 * A service listener: listens at one port of a service. It listens only while the service has endpoints, so that the
 * system itself refuses connections to a service without any:
 *
 *   closed ⇄ opening ⇄ open      (a port that is taken is tried again, with back-off)
 */
import type { Socket as DatagramSocket } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import type { ServiceDoor } from './service-door.ts';
import type { ServiceEntry, ServiceTarget } from './service-ports.ts';
import { UdpForward } from './udp-forward.ts';

const retryFirstMs = 100;
const retryMaxMs = 30_000;
/**
 * The first failures to listen are not reported: a port that moves from one service to another is taken for a
 * moment.
 */
const silentTries = 3;

const failures: Partial<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another process',
  EACCES: 'such a port takes the rights of root',
};

export interface ListenerContext {
  /** The addresses to listen at for an entry; empty when it cannot be served. */
  addresses(entry: ServiceEntry): readonly string[];
  door(entry: ServiceEntry): ServiceDoor;
  /** Handles an accepted connection. */
  serve(client: Socket, entry: ServiceEntry): void;
  choose(client: string, entry: ServiceEntry): ServiceTarget | undefined;
  /** Called when an entry cannot listen, after some tries. */
  failed?(entry: ServiceEntry, failure: Error): void;
  readonly onError: (error: Error) => void;
}

interface Listening {
  close(): Promise<void>;
  retain(targets: readonly ServiceTarget[]): void;
}

export class ServiceListener {
  readonly #open = new Map<string, Listening>();
  #entry: ServiceEntry;
  #working: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #closed = false;

  constructor(
    entry: ServiceEntry,
    private readonly context: ListenerContext,
  ) {
    this.#entry = entry;
    this.#sync();
  }

  /** Replaces the targets of the same entry. */
  update(entry: ServiceEntry): void {
    this.#entry = entry;
    for (const listening of this.#open.values()) listening.retain(entry.targets);
    this.#sync();
  }

  /** Resolves when it listens, has stopped, or has failed to listen. */
  async settled(): Promise<void> {
    while (this.#working) await this.#working;
  }

  /** Stops listening; established connections continue. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#sync();
    await this.settled();
  }

  #sync(): void {
    this.#again = true;
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
      // Updates of the same tick may come after the loop has ended without waiting.
      if (this.#again) this.#sync();
    });
  }

  async #work(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      clearTimeout(this.#timer);
      const wanted = new Set(
        this.#closed || !this.#entry.targets.length ? [] : this.context.addresses(this.#entry),
      );
      for (const [address, listening] of this.#open) {
        if (wanted.has(address)) continue;
        this.#open.delete(address);
        await listening.close();
      }
      let failure: Error | undefined;
      for (const address of wanted) {
        if (this.#open.has(address)) continue;
        try {
          this.#open.set(address, await this.#listen(address));
        } catch (error) {
          failure ??= this.#asFailure(error as NodeJS.ErrnoException, address);
        }
      }
      this.#failures = failure ? this.#failures + 1 : 0;
      if (failure && !this.#closed) this.#tryLater(failure);
    }
  }

  #tryLater(failure: Error): void {
    if (this.#failures === silentTries) {
      this.context.onError(failure);
      this.context.failed?.(this.#entry, failure);
    }
    const waitMs = Math.min(retryFirstMs * 2 ** (this.#failures - 1), retryMaxMs);
    this.#timer = setTimeout(() => this.#sync(), waitMs);
    this.#timer.unref();
  }

  #asFailure(error: NodeJS.ErrnoException, address: string): Error {
    const { protocol, port, subject } = this.#entry;
    const why = failures[error.code ?? ''] ?? error.message;
    return new Error(`${subject} cannot answer at ${address}:${port}/${protocol}: ${why}`, {
      cause: error,
    });
  }

  async #listen(address: string): Promise<Listening> {
    const { protocol, port } = this.#entry;
    const door = this.context.door(this.#entry);
    return protocol === 'UDP'
      ? this.#forwarding(await door.bind(address, port))
      : this.#accepting(await door.listen(address, port));
  }

  #forwarding(socket: DatagramSocket): Listening {
    return new UdpForward(socket, (client) => this.context.choose(client, this.#entry));
  }

  #accepting(server: Server): Listening {
    server.on('error', this.context.onError);
    server.on('connection', (client: Socket) => this.context.serve(client, this.#entry));
    return {
      retain: () => undefined,
      // Do not wait for open connections, which may last long.
      close: async () => void server.close(),
    };
  }
}
