/**
 * Opens sockets in a network namespace. A socket belongs to the namespace of the process that created it,
 * even after it is passed to another process: so a small helper process enters the namespace, opens the
 * socket and hands it over. The helper is started on demand; it ends after an idle timeout, or when the agent
 * is gone.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket as DatagramSocket } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import { helperEnv } from '../process/spawner.ts';
import { namespacePath } from './ip-route.ts';

const idleMs = 5_000;
const answerMs = 10_000;
const pendingMax = 1_024;
const backlog = 511;

/**
 * Between listening and handing the server over, the helper may already have accepted a connection: it hands
 * that over as well. It reads nothing from connections, because those bytes would be lost.
 */
const script = `
const net = require('node:net'), dgram = require('node:dgram');
process.on('disconnect', () => process.exit());
process.on('uncaughtException', () => process.exit(1));
process.on('message', ({ id, want, host, port }) => {
  const failed = ({ code, message }) => process.send({ id, code, message });
  if (want === 'connection') {
    const socket = net.connect({ host, port }).pause();
    socket.once('error', failed).once('connect', () => process.send({ id }, socket));
  } else if (want === 'tcp') {
    const server = net.createServer({ pauseOnConnect: true }, (socket) => process.send({ id, early: true }, socket));
    server.once('error', failed);
    server.listen({ host, port, backlog: ${backlog} }, () => process.send({ id }, server, () => server.close()));
  } else {
    const socket = dgram.createSocket('udp4');
    socket.once('error', failed);
    socket.bind(port, host, () => process.send({ id }, socket, () => socket.close()));
  }
});
`;

type Wanted = 'connection' | 'tcp' | 'udp';

interface Answer {
  readonly id: number;
  readonly code?: string;
  readonly message?: string;
  readonly early?: boolean;
}

interface Pending {
  readonly resolve: (handle: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class NamespaceSockets {
  readonly #pending = new Map<number, Pending>();
  /** Servers handed over by the running helper, which may still send connections accepted for them. */
  readonly #servers = new Map<number, Server>();
  #child: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #next = 0;
  #closed = false;

  constructor(
    private readonly namespace: string,
    private readonly nsenter: string,
  ) {}

  connect(host: string, port: number): Promise<Socket> {
    return this.#ask('connection', host, port) as Promise<Socket>;
  }

  listen(host: string, port: number): Promise<Server> {
    return this.#ask('tcp', host, port) as Promise<Server>;
  }

  bind(host: string, port: number): Promise<DatagramSocket> {
    return this.#ask('udp', host, port) as Promise<DatagramSocket>;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  async #ask(want: Wanted, host: string, port: number): Promise<unknown> {
    if (this.#closed) throw new Error('the network is closed');
    if (this.#pending.size >= pendingMax) throw new Error('too many sockets are being made');
    clearTimeout(this.#idle);
    this.#child ??= this.#begin();
    const child = this.#child;
    const id = ++this.#next;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<unknown>((resolve, reject) => {
        this.#pending.set(id, { resolve, reject });
        timer = setTimeout(() => reject(new Error('no socket was made in time')), answerMs);
        child.send({ id, want, host, port }, (error) => {
          if (error) reject(error);
        });
      });
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
      if (this.#pending.size === 0 && !this.#closed) {
        this.#idle = setTimeout(() => void this.#end(), idleMs);
        this.#idle.unref();
      }
    }
  }

  #begin(): ChildProcess {
    const child = spawn(
      this.nsenter,
      [`--net=${namespacePath(this.namespace)}`, '--', process.execPath, '-e', script],
      {
        env: { ...helperEnv, ELECTRON_RUN_AS_NODE: '1' },
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        cwd: '/',
      },
    );
    child.on('message', (answer, handle) => this.#take(answer as Answer, handle));
    const gone = (error: Error): void => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#servers.clear();
      for (const { reject } of this.#pending.values()) reject(error);
    };
    child.on('error', gone).on('exit', () => gone(new Error(`no sockets can be made in ${this.namespace}`)));
    return child;
  }

  #take({ id, code, message, early }: Answer, handle: unknown): void {
    if (early) {
      const server = this.#servers.get(id);
      if (server?.listening) server.emit('connection', handle);
      else (handle as Socket | undefined)?.destroy();
      return;
    }
    const pending = this.#pending.get(id);
    if (!pending) return release(handle);
    if (code !== undefined || message !== undefined)
      return pending.reject(Object.assign(new Error(message ?? code), { code }));
    if (!handle) return pending.reject(new Error('the socket was lost'));
    if (isServer(handle)) {
      this.#servers.set(id, handle);
      handle.once('close', () => this.#servers.delete(id));
    }
    pending.resolve(handle);
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    const child = this.#child;
    this.#child = undefined;
    this.#servers.clear();
    for (const { reject } of this.#pending.values()) reject(new Error('the network is closed'));
    if (!child || child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.connected) child.disconnect();
    child.kill('SIGKILL');
    await ended;
  }
}

const isServer = (handle: unknown): handle is Server => typeof (handle as Server).listen === 'function';

/** Closes a socket that arrives after its caller has given up. */
function release(handle: unknown): void {
  const { destroy, close } = (handle ?? {}) as Partial<Socket & Server>;
  if (destroy) (handle as Socket).destroy();
  else if (close) (handle as Server).close();
}
