/**
 * Writes to etcd. Each is one transaction, which compares the revision of the key and the epoch of this server
 * (`registration.ts`). How a write ends:
 *
 *   its mark comes through the feed         it is done, with or without an answer
 *   the answer says that it lost            it lost, or, if only the epoch was wrong, it is sent again
 *   it was refused or never sent            it is sent again, or fails
 *   no answer, or one that settles nothing  a new epoch begins; when the feed has passed that, the write has either
 *                                           come through the feed, or never will: then it is sent again
 *
 * A write that loses against an earlier attempt of its own was done by that: then etcd has not told the feed, as versions
 * with known errors do, or a connection has lied. The feed is checked against what is stored.
 *
 * A write that is not settled within its time fails with OutcomeUnknownError.
 */
import { randomInt } from 'node:crypto';
import { CallError, GrpcCode } from '../../grpc/call-error.ts';
import { checkWrite } from '../commit-queue.ts';
import {
  DeadlineError,
  LockLostError,
  OutcomeUnknownError,
  type Stored,
  StoreUnavailableError,
  storeClosed,
  type Write,
  type WriteResult,
} from '../store.ts';
import { isNotDone, isOutOfSpace, isTooLarge } from './call-problem.ts';
import type { EtcdFeed } from './etcd-feed.ts';
import { ExpiryLeases } from './expiry-leases.ts';
import type { Keyspace } from './keyspace.ts';
import { isTemporary, type Members, pause } from './members.ts';
import {
  decodeRange,
  decodeTxn,
  encodeRange,
  encodeTxn,
  type KeyValue,
  RANGE,
  TXN,
  type TxnAnswer,
} from './messages.ts';
import { asUnavailable, type Registration } from './registration.ts';
import { Marks, STAMP_BYTES, stamp, unstamp } from './stamp.ts';

/** etcd takes requests of 1.5 MiB; a transaction has two keys, three comparisons and a stamp beside the value. */
export const ETCD_VALUE_BYTES_MAX = 1536 * 1024 - 16 * 1024 - STAMP_BYTES;

/** Maximum number of transactions in flight: more would only wait longer in etcd. */
const IN_FLIGHT_MAX = 256;
/** A write without a deadline is tried this long. */
const PATIENCE_MS = 30_000;
const RETRY_MS = 50;
const CALL_MS = 5000;

export interface EtcdWriterOptions {
  readonly members: Members;
  readonly keyspace: Keyspace;
  readonly registration: Registration;
  readonly feed: () => EtcdFeed;
  readonly now: () => number;
  /** How long a key lives after its last write; undefined: until it is deleted. */
  readonly lifeMs?: ((key: string) => number | undefined) | undefined;
  /** How long the answer to a transaction is awaited before the write is settled by a new epoch. */
  readonly answerMs?: number;
}

/** One transaction that was sent. */
interface Attempt {
  readonly mark: string;
  readonly gaps: number;
  /** Resolves with the revision when the feed shows the write. */
  readonly published: Promise<number>;
  /** Where the feed showed it, as soon as it has. */
  revision?: number;
}

const ANSWER_MS = 2500;

export class EtcdWriter {
  readonly #options: EtcdWriterOptions;
  readonly #marks = new Marks(randomInt(10 ** 8));
  readonly #attempts = new Map<string, (revision: number) => void>();
  readonly #leases: ExpiryLeases;
  readonly #queue: (() => void)[] = [];
  #inFlight = 0;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(options: EtcdWriterOptions) {
    this.#options = options;
    this.#leases = new ExpiryLeases(options.members);
  }

  async write(write: Write): Promise<WriteResult> {
    if (this.#closed) throw storeClosed();
    checkWrite(write, ETCD_VALUE_BYTES_MAX);
    if (++this.#inFlight > IN_FLIGHT_MAX) await new Promise<void>((resolve) => this.#queue.push(resolve));
    try {
      return await this.#carryOut(write);
    } finally {
      this.#inFlight--;
      this.#queue.shift()?.();
      if (this.#inFlight === 0) for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  /** Called when the feed shows a write. */
  published(mark: string, revision: number): void {
    this.#attempts.get(mark)?.(revision);
  }

  /** Refuses further writes, and resolves when the accepted ones are answered. */
  close(): Promise<void> {
    this.#closed = true;
    return new Promise((resolve) => {
      if (this.#inFlight === 0) resolve();
      else this.#idle.push(resolve);
    });
  }

  async #carryOut(write: Write): Promise<WriteResult> {
    const { registration, now } = this.#options;
    const endMs = performance.now() + PATIENCE_MS;
    let stamped = true;
    const marks: string[] = [];
    for (;;) {
      if (write.deadlineMs !== undefined && write.deadlineMs < now()) throw new DeadlineError();
      const attempt = this.#begin();
      marks.push(attempt.mark);
      try {
        const epoch = await registration.epoch();
        const answer = await this.#send(write, epoch, attempt, stamped);
        if (typeof answer === 'number') return { ok: true, revision: answer };
        const lost = this.#judge(write, epoch, answer);
        if (lost) return this.#ownWrite(answer, marks) ?? lost;
      } catch (error) {
        if (error instanceof CallError && !isNotDone(error)) {
          const revision = await this.#settle(write, attempt, stamped, endMs, error);
          if (revision !== undefined) return { ok: true, revision };
        } else if (error instanceof CallError && isOutOfSpace(error) && write.value === null && stamped)
          stamped = false;
        else if (error instanceof CallError && error.code === GrpcCode.notFound) this.#leases.forget();
        else if (!isTemporary(error) || performance.now() > endMs) throw asFailure(error);
        else await pause(RETRY_MS);
      } finally {
        this.#attempts.delete(attempt.mark);
      }
    }
  }

  #begin(): Attempt {
    const mark = this.#marks.next();
    const { promise: published, resolve } = withResolver();
    const attempt: Attempt = { mark, published, gaps: this.#options.feed().gaps };
    this.#attempts.set(mark, (revision) => {
      attempt.revision = revision;
      resolve(revision);
    });
    return attempt;
  }

  /**
   * Sends one transaction; resolves with the revision when the write is done and published, otherwise with etcd's
   * answer.
   */
  async #send(
    { key, value, expected, locks = [] }: Write,
    epoch: number,
    { mark, published }: Attempt,
    stamped: boolean,
  ): Promise<number | TxnAnswer> {
    const { members, keyspace, registration, now, answerMs = ANSWER_MS } = this.#options;
    const place = keyspace.encode(key);
    const lifeMs = value === null ? undefined : this.#options.lifeMs?.(key);
    const lease = lifeMs === undefined ? undefined : await this.#leases.leaseFor(lifeMs);
    const compare = [
      { key: place, revision: expected },
      { key: registration.key, revision: epoch },
    ];
    for (const { name, revision } of locks) compare.push({ key: keyspace.lock(name), revision });
    const otherwise = compare.map(({ key }) => key);
    // Without space, etcd carries a deletion out only if nothing is put with it.
    const note = { key: keyspace.deletion, value: stamp(Buffer.alloc(0), now(), mark) };
    const message =
      value === null
        ? encodeTxn({ compare, deletes: [place], puts: stamped ? [note] : [], otherwise })
        : encodeTxn({ compare, puts: [{ key: place, value: stamp(value, now(), mark), lease }], otherwise });
    const answered = members.once(TXN, message, answerMs).then(decodeTxn);
    const first = await Promise.race([published, answered]);
    if (typeof first === 'number') {
      answered.catch(() => undefined);
      return first;
    }
    if (!first.succeeded) return first;
    await this.#options.feed().reached(first.revision);
    return first.revision;
  }

  /**
   * The result of a transaction whose comparison failed; undefined when only the epoch was wrong, so that it can be
   * sent again.
   */
  #judge(
    { key, expected, locks = [] }: Write,
    epoch: number,
    { read, revision }: TxnAnswer,
  ): WriteResult | undefined {
    const [current, server, ...held] = read;
    if ((current?.modRevision ?? 0) !== expected)
      return { ok: false, current: current && stored(key, current) };
    if (locks.some((lock, i) => held[i]?.modRevision !== lock.revision)) throw new LockLostError();
    if (server?.modRevision === epoch)
      throw new StoreUnavailableError('etcd refused a write without a reason');
    this.#options.registration.adopt(server?.modRevision ?? 0, revision);
    return undefined;
  }

  /**
   * The result of a write that lost against an earlier attempt of its own, which means it is done; undefined if it lost
   * against another.
   */
  #ownWrite({ read: [current] }: TxnAnswer, marks: readonly string[]): WriteResult | undefined {
    if (marks.length < 2 || !current) return undefined;
    const { mark } = unstamp(current.value);
    if (mark === undefined || !marks.includes(mark)) return undefined;
    this.#options.feed().distrust();
    return { ok: true, revision: current.modRevision };
  }

  /** The revision of a write whose answer did not come; undefined: it is not done, and never will be. */
  async #settle(
    write: Write,
    attempt: Attempt,
    stamped: boolean,
    endMs: number,
    cause: CallError,
  ): Promise<number | undefined> {
    const { registration, feed, now } = this.#options;
    const late = (): boolean =>
      performance.now() > endMs || (write.deadlineMs !== undefined && write.deadlineMs < now());
    const settled = async (): Promise<number | undefined> => {
      for (;;)
        try {
          await feed().reached(await registration.fence());
          break;
        } catch (error) {
          if (!(error instanceof StoreUnavailableError) || error.permanent || late()) throw error;
          await pause(RETRY_MS);
        }
      // The feed may have shown the write in the same event that ended the wait.
      if (attempt.revision !== undefined) return attempt.revision;
      if (feed().gaps === attempt.gaps && stamped) return undefined;
      // The feed has missed changes, perhaps this one, or the write has no mark: look at what is stored now.
      const current = await this.#current(write);
      if (current && unstamp(current.value).mark === attempt.mark) return current.modRevision;
      if ((current?.modRevision ?? 0) === write.expected && write.expected !== 0) return undefined;
      throw new OutcomeUnknownError({ cause });
    };
    try {
      return await Promise.race([attempt.published, settled()]);
    } catch (error) {
      if (error instanceof OutcomeUnknownError) throw error;
      throw new OutcomeUnknownError({ cause: error });
    }
  }

  async #current({ key }: Write): Promise<KeyValue | undefined> {
    const { members, keyspace } = this.#options;
    const request = encodeRange({ key: keyspace.encode(key) });
    return decodeRange(await members.call(RANGE, request, CALL_MS)).items[0];
  }
}

function withResolver(): { promise: Promise<number>; resolve: (revision: number) => void } {
  let resolve!: (revision: number) => void;
  const promise = new Promise<number>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function asFailure(error: unknown): unknown {
  if (!(error instanceof CallError)) return error;
  if (isTooLarge(error)) return new RangeError(`the value is too large for etcd: ${error.message}`);
  return asUnavailable(error);
}

export const stored = (key: string, { value, modRevision }: KeyValue): Stored => ({
  key,
  value: unstamp(value).value,
  revision: modRevision,
});
