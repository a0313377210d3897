/**
 * A server's own key in etcd, on a lease that it keeps alive. The revision of the key is the server's epoch: every write
 * of the server is carried out only while the epoch is the current one. Writing the key again (`fence`) begins a new
 * epoch; from then on no write of an earlier one can be carried out, however late it arrives. That settles writes whose
 * outcome is unknown. A server that was paused until its lease expired cannot write before it has registered again.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { CallError, GrpcCode } from '../../grpc/call-error.ts';
import { type Peers, StoreFullError, StoreUnavailableError } from '../store.ts';
import { isOutOfSpace } from './call-problem.ts';
import type { Keyspace } from './keyspace.ts';
import type { Members } from './members.ts';
import {
  decodeKeepAlive,
  decodeRange,
  decodeRevision,
  encodeLease,
  encodeLeaseGrant,
  encodePut,
  encodeRange,
  LEASE_GRANT,
  LEASE_KEEP_ALIVE,
  LEASE_REVOKE,
  PUT,
  RANGE,
} from './messages.ts';
import { SharedRead } from './shared-read.ts';

const LEASE_SECONDS = 5;
const KEEP_ALIVE_MS = 1500;
const CALL_MS = 5000;
const REVOKE_MS = 1000;
const ATTEMPTS = 3;
/** Ids of leases are chosen here, so that granting one can be repeated. They stay below 2^48. */
export const leaseIdMax = 2 ** 48 - 1;

/** What a server publishes about itself, as JSON in its key. */
interface ServerRecord {
  /** The revision that a backup is reading, which must not be compacted. */
  readonly pinned?: number;
  /** Text for the other servers (`announce`). */
  readonly announced?: string;
}

interface LiveServer extends ServerRecord {
  readonly isThis: boolean;
}

export class Registration implements Peers {
  readonly #members: Members;
  readonly #keyspace: Keyspace;
  readonly key: Buffer;
  readonly #fence = new SharedRead(() => this.#put());
  readonly #timer: NodeJS.Timeout;
  #lease = 0;
  #epoch = 0;
  #pinned: number | undefined;
  #announced: string | undefined;
  readonly #followers = new Set<() => void>();
  #renewing = false;
  #closed = false;

  constructor(
    members: Members,
    keyspace: Keyspace,
    private readonly leaseSeconds = LEASE_SECONDS,
  ) {
    this.#members = members;
    this.#keyspace = keyspace;
    this.key = keyspace.server(randomBytes(8).toString('hex'));
    this.#timer = setInterval(() => void this.#renew(), KEEP_ALIVE_MS);
  }

  /** The lease of this server: etcd removes keys on it when the server is gone. 0 before the first epoch. */
  get lease(): number {
    return this.#lease;
  }

  /** The current epoch. */
  epoch(): number | Promise<number> {
    return this.#epoch || this.fence();
  }

  /** Begins a new epoch; the answer is its revision. */
  fence(): Promise<number> {
    return this.#fence.answer();
  }

  /**
   * Called when a write was refused because of its epoch. `revision` is that of this server's key (0: it is gone), and
   * `seenAt` the revision of etcd at that moment.
   */
  adopt(revision: number, seenAt: number): void {
    if (seenAt >= this.#epoch) this.#epoch = revision;
  }

  /** Keeps all servers from compacting a revision; undefined releases it. */
  async pin(revision: number | undefined): Promise<void> {
    this.#pinned = revision;
    await this.fence();
  }

  async announce(text: string): Promise<void> {
    this.#announced = text;
    await this.fence();
  }

  async announced(): Promise<readonly string[]> {
    return (await this.servers()).flatMap(({ announced }) => announced ?? []);
  }

  follow(changed: () => void): () => void {
    this.#followers.add(changed);
    return () => this.#followers.delete(changed);
  }

  /** Called when a server has come, gone or written its key. */
  changed(): void {
    for (const changed of this.#followers) changed();
  }

  /** The servers that are alive, in the order of their keys. */
  async servers(): Promise<readonly LiveServer[]> {
    const { serversStart, serversEnd } = this.#keyspace;
    const request = encodeRange({ key: serversStart, end: serversEnd });
    const { items } = decodeRange(await this.#members.call(RANGE, request, CALL_MS));
    return items.map(({ key, value }) => ({ ...recordOf(value), isThis: key.equals(this.key) }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    if (!this.#lease) return;
    // If etcd does not answer, the lease expires.
    await this.#members.once(LEASE_REVOKE, encodeLease(this.#lease), REVOKE_MS).catch(() => undefined);
  }

  async #put(): Promise<number> {
    for (let attempt = 1; ; attempt++)
      try {
        this.#lease ||= await this.#grant();
        const value = Buffer.from(
          JSON.stringify({ pinned: this.#pinned, announced: this.#announced } satisfies ServerRecord),
        );
        const revision = decodeRevision(
          await this.#members.call(PUT, encodePut(this.key, value, this.#lease), CALL_MS),
        );
        this.#epoch = Math.max(this.#epoch, revision);
        return revision;
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        if (error.code !== GrpcCode.notFound || attempt === ATTEMPTS) throw asUnavailable(error);
        this.#lease = 0;
      }
  }

  async #grant(): Promise<number> {
    const id = randomInt(1, leaseIdMax);
    try {
      await this.#members.call(LEASE_GRANT, encodeLeaseGrant(this.leaseSeconds, id), CALL_MS);
    } catch (error) {
      // An earlier attempt, whose answer was lost, has granted the lease.
      if (!(error instanceof CallError && error.message.includes('lease already exists'))) throw error;
    }
    return id;
  }

  async #renew(): Promise<void> {
    if (this.#renewing || !this.#lease) return;
    this.#renewing = true;
    const lease = this.#lease;
    try {
      const answer = await this.#members.call(LEASE_KEEP_ALIVE, encodeLease(lease), CALL_MS);
      if (decodeKeepAlive(answer) === 0 && this.#lease === lease && !this.#closed) {
        this.#lease = 0;
        await this.fence();
      }
    } catch {
      // Ignored: the next write reports what is wrong.
    }
    this.#renewing = false;
  }
}

function recordOf(value: Buffer): ServerRecord {
  try {
    const { pinned, announced } = JSON.parse(value.toString('utf8')) as ServerRecord;
    return {
      ...(typeof pinned === 'number' ? { pinned } : {}),
      ...(typeof announced === 'string' ? { announced } : {}),
    };
  } catch {
    return {};
  }
}

/** Turns the error of a call into one with a sentence for the operator. */
export function asUnavailable(error: CallError): StoreUnavailableError {
  const { code, message } = error;
  if (isOutOfSpace(error))
    return new StoreFullError(
      'etcd has no space left, and takes deletions only: compact and defragment it, then clear its alarm NOSPACE',
      { cause: error },
    );
  if (
    code === GrpcCode.permissionDenied ||
    code === GrpcCode.unauthenticated ||
    message.includes('user name not found')
  )
    return new StoreUnavailableError(
      `etcd does not allow what the store needs (${message}): check the rights of --etcd-certfile for --etcd-prefix`,
      { cause: error },
    );
  if (message.includes('user name is empty'))
    return new StoreUnavailableError('etcd wants to know its users: set --etcd-certfile and --etcd-keyfile', {
      cause: error,
    });
  return new StoreUnavailableError(`etcd failed: ${message}`, { cause: error });
}
