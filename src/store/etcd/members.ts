/**
 * The members of an etcd, of which one is in use: all calls and watches go through one connection. The next member is
 * taken when the connection ends, when the member has no leader, or when nothing is received although a call waits. A
 * heartbeat makes sure that a call waits at least once a second, so a member that is stopped is left within seconds.
 */

import { CallError, GrpcCode } from '../../grpc/call-error.ts';
import { Connection, type ConnectionTls } from '../../grpc/connection.ts';
import { StoreTimeoutError, StoreUnavailableError, storeClosed } from '../store.ts';
import { isNoLeader, isPassing } from './call-problem.ts';
import { connectProblem } from './connect-problem.ts';
import { decodeStatus, encodeRange, RANGE, STATUS, type StatusAnswer } from './messages.ts';

export interface MembersOptions {
  readonly urls: readonly string[];
  readonly tls?: ConnectionTls;
  /** A key that does not exist, for heartbeats. */
  readonly heartbeatKey: Buffer;
  /** Silence after which a member is left, in milliseconds. */
  readonly silenceMs?: number;
  readonly onWarning?: (message: string) => void;
}

/** A member without a leader answers so at once instead of being silent. */
const leaderWanted = { hasleader: 'true' };
const SILENCE_MS = 1500;
/**
 * Longest silence that is waited for before the next member is tried. The time grows while one member after the other
 * is silent, because then all of etcd may be slow.
 */
const SILENCE_MAX_MS = 12_000;
const CONNECT_MS = 2000;
/**
 * Longest time to connect. It grows with each round in which all members are silent, and is this long at the start,
 * when the machine may be slow.
 */
const CONNECT_MAX_MS = 15_000;
const HEARTBEAT_MS = 1000;
const CHECK_MS = 250;
const RETRY_FIRST_MS = 25;
const RETRY_MAX_MS = 500;

export class Members {
  readonly #options: MembersOptions;
  readonly #silenceMs: number;
  readonly #timer: NodeJS.Timeout;
  #next = 0;
  #current: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #clusterId: string | undefined;
  #connectMs = CONNECT_MS;
  /** How many members in a row were left because they were silent. */
  #silences = 0;
  #beatMs = 0;
  #beating = false;
  #checkedMs = performance.now();
  #warned = false;
  #closed = false;

  constructor(options: MembersOptions) {
    this.#options = options;
    this.#silenceMs = options.silenceMs ?? SILENCE_MS;
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
  }

  /** The connection in use, or a new one. Rejects when no member can be reached. */
  connection(): Promise<Connection> {
    if (this.#closed) return Promise.reject(storeClosed());
    if (this.#current && !this.#current.failure) return Promise.resolve(this.#current);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Calls etcd once. Rejects with a CallError, or when no member can be reached. */
  once(path: string, message: Buffer, timeoutMs: number): Promise<Buffer> {
    const connection = this.#current;
    if (connection && !connection.failure && !this.#closed)
      return this.#send(connection, path, message, timeoutMs);
    return this.connection().then((made) => this.#send(made, path, message, timeoutMs));
  }

  /** For calls that may be repeated: tries until there is an answer, or the time is over. */
  async call(path: string, message: Buffer, timeoutMs: number): Promise<Buffer> {
    const endMs = performance.now() + timeoutMs;
    for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS)) {
      const restMs = endMs - performance.now();
      try {
        return await this.once(path, message, Math.max(1, restMs));
      } catch (error) {
        if (this.#closed) throw storeClosed();
        if (!isTemporary(error)) throw error;
        if (performance.now() + pauseMs > endMs)
          throw new StoreTimeoutError(`etcd does not answer: ${(error as Error).message}`, {
            cause: error,
          });
      }
      await pause(pauseMs);
    }
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#current?.close(new CallError(GrpcCode.cancelled, 'the store was closed'));
  }

  async #send(connection: Connection, path: string, message: Buffer, timeoutMs: number): Promise<Buffer> {
    try {
      return await connection.unary(path, message, timeoutMs);
    } catch (error) {
      if (error instanceof CallError && isNoLeader(error)) this.#leave(connection, error);
      throw error;
    }
  }

  async #connect(): Promise<Connection> {
    const isFirst = this.#clusterId === undefined;
    let found = await this.#tryAll(this.#connectMs);
    const isSilent = Array.isArray(found) && found.some(isSilence);
    this.#connectMs = isSilent ? Math.min(2 * this.#connectMs, CONNECT_MAX_MS) : CONNECT_MS;
    if (isFirst && isSilent) found = await this.#tryAll(CONNECT_MAX_MS);
    if (!Array.isArray(found)) return found;
    throw new StoreUnavailableError(`no member of etcd can be used: ${found.join('; ')}`);
  }

  /** Every member once, beginning with the one after the last: a connection, or what is wrong with each. */
  async #tryAll(timeoutMs: number): Promise<Connection | string[]> {
    const { urls, tls = {} } = this.#options;
    const problems: string[] = [];
    for (const _ of urls) {
      const url = urls[this.#next++ % urls.length]!;
      let connection: Connection | undefined;
      try {
        connection = await Connection.open(url, { ...tls, metadata: leaderWanted, peer: 'etcd' }, timeoutMs);
        this.#admit(url, decodeStatus(await connection.unary(STATUS, Buffer.alloc(0), timeoutMs)));
        if (this.#closed) throw storeClosed();
        this.#current = connection;
        return connection;
      } catch (error) {
        connection?.close(new CallError(GrpcCode.cancelled, 'the member is not used'));
        if (error instanceof StoreUnavailableError && error.permanent) throw error;
        problems.push(connectProblem(url, (error as Error).message));
      }
    }
    return problems;
  }

  #admit(url: string, { clusterId, version, hasLeader, isLearner }: StatusAnswer): void {
    if (this.#clusterId !== undefined && clusterId !== this.#clusterId)
      throw new StoreUnavailableError(
        `${url} belongs to another etcd than before (cluster ${clusterId}, not ${this.#clusterId}): all of --etcd-servers must be members of one etcd`,
        { permanent: true },
      );
    if (/^3\.5\.[012]$/.test(version))
      throw new StoreUnavailableError(
        `etcd ${version} at ${url} can lose data: update it to 3.5.13 or later`,
        {
          permanent: true,
        },
      );
    if (!hasLeader) throw new Error('it knows no leader');
    if (isLearner) throw new Error('it is a learner');
    this.#clusterId = clusterId;
    if (!this.#warned && isOld(version)) {
      this.#warned = true;
      this.#options.onWarning?.(
        `etcd ${version} at ${url} has errors in watches and leases that were corrected in 3.4.31 and 3.5.13: update it`,
      );
    }
  }

  #leave(connection: Connection, error: CallError): void {
    connection.close(error);
    if (this.#current === connection) this.#current = undefined;
  }

  #check(): void {
    const nowMs = performance.now();
    const connection = this.#current;
    const paused = nowMs - this.#checkedMs > 2 * CHECK_MS;
    this.#checkedMs = nowMs;
    if (!connection || connection.failure) return;
    if (paused) connection.excuse();
    const limitMs = Math.min(
      this.#silenceMs * 2 ** this.#silences,
      Math.max(SILENCE_MAX_MS, this.#silenceMs),
    );
    if (connection.silentMs(nowMs) > limitMs) {
      this.#silences++;
      this.#leave(connection, new CallError(GrpcCode.unavailable, `the member was silent for ${limitMs} ms`));
    } else if (!this.#beating && nowMs - this.#beatMs >= HEARTBEAT_MS) void this.#beat(nowMs);
  }

  async #beat(nowMs: number): Promise<void> {
    this.#beating = true;
    this.#beatMs = nowMs;
    try {
      await this.once(RANGE, encodeRange({ key: this.#options.heartbeatKey }), 2 * SILENCE_MAX_MS);
      this.#silences = 0;
    } catch {
      // Ignored: other calls report what is wrong.
    }
    this.#beating = false;
  }
}

const isSilence = (problem: string): boolean => /(did not|no) answer within/.test(problem);

/** Whether another attempt may succeed. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof CallError) return isPassing(error);
  return error instanceof StoreUnavailableError && !error.permanent;
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

function isOld(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (major !== 3) return false;
  return minor < 4 || (minor === 4 && patch < 31) || (minor === 5 && patch < 13);
}
