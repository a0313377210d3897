/**
 * The store on etcd, which several servers may share. Writes are transactions (`etcd-writer.ts`); one watch feeds all
 * subscribers (`etcd-feed.ts`); reads are linearizable. Revisions are those of etcd, so they also count what is no change
 * of an object. See `keyspace.ts` for what is where.
 */
import { wallClock } from '../../clock.ts';
import { CallError } from '../../grpc/call-error.ts';
import type { ConnectionTls } from '../../grpc/connection.ts';
import { writeBackup } from '../backup-file.ts';
import { checkKey } from '../engine.ts';
import {
  type Change,
  CompactedError,
  FutureRevisionError,
  type PrefetchedCalls,
  type RangePage,
  type RangeQuery,
  type Store,
  type Stored,
  type StoreStats,
  StoreTimeoutError,
  StoreUnavailableError,
  type Subscription,
  storeClosed,
  type Write,
  type WriteResult,
} from '../store.ts';
import { type Observe, observeWrite } from '../versioned.ts';
import { isCompacted } from './call-problem.ts';
import { Compaction, oldestRevision, type Reader } from './compaction.ts';
import { EtcdFeed } from './etcd-feed.ts';
import { ETCD_VALUE_BYTES_MAX, EtcdWriter, stored } from './etcd-writer.ts';
import { Keyspace } from './keyspace.ts';
import { Members, pause } from './members.ts';
import {
  decodeRange,
  decodeStatus,
  encodePut,
  encodeRange,
  PUT,
  RANGE,
  type RangeAnswer,
  type RangeRequest,
  STATUS,
} from './messages.ts';
import { asUnavailable, Registration } from './registration.ts';
import { ServerLocks } from './server-locks.ts';
import { SharedRead } from './shared-read.ts';

export interface EtcdStoreOptions {
  /** Addresses of members of one etcd, such as `http://127.0.0.1:2379`. */
  readonly urls: readonly string[];
  readonly tls?: ConnectionTls;
  /** All keys begin with this. */
  readonly prefix: string;
  readonly now?: () => number;
  /** How long a key lives after its last write; undefined: until it is deleted. */
  readonly lifeMs?: ((key: string) => number | undefined) | undefined;
  readonly observe?: Observe;
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Times that tests change, in milliseconds. */
  readonly times?: Partial<EtcdTimes>;
}

interface EtcdTimes {
  /** How long the answer to a write is awaited before its outcome is found out by other means. */
  readonly answerMs: number;
  /** Silence after which a member is left for the next. */
  readonly silenceMs: number;
  /** How long the watch may be behind before a key is written, to see whether the watch still delivers events. */
  readonly progressMs: number;
  /** How long a read is retried. */
  readonly readMs: number;
  /** How long a server may be silent before the others take it for lost. */
  readonly leaseSeconds: number;
}

const READ_MS = 10_000;
const PROGRESS_MS = 250;
const CLOSE_MS = 5000;
/** Keys per request of a long range, adapted to the size of values so that an answer has about PAGE_BYTES. */
const PAGE_KEYS = 1000;
const PAGE_BYTES = 1024 * 1024;

/** Rejects when no member can be used, with a sentence that says why. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const keyspace = new Keyspace(options.prefix);
  const members = new Members({
    urls: options.urls,
    tls: options.tls,
    heartbeatKey: keyspace.heartbeat,
    silenceMs: options.times?.silenceMs,
    onWarning: options.onWarning,
  });
  try {
    await members.connection();
    await assertRestored(members, keyspace, options.prefix);
    const registration = new Registration(members, keyspace, options.times?.leaseSeconds);
    try {
      const revision = await registration.fence();
      const compacted = await oldestRevision(members, keyspace.heartbeat, revision);
      return new EtcdStore({ options, keyspace, members, registration, revision, compacted });
    } catch (error) {
      await registration.close();
      throw error;
    }
  } catch (error) {
    members.close();
    throw error instanceof CallError ? asUnavailable(error) : error;
  }
}

async function assertRestored(members: Members, { restoring }: Keyspace, prefix: string): Promise<void> {
  const { items } = decodeRange(await members.call(RANGE, encodeRange({ key: restoring }), READ_MS));
  if (items.length > 0)
    throw new StoreUnavailableError(
      `etcd holds half of a backup under ${prefix}: run wherry restore again, to its end`,
      { permanent: true },
    );
}

interface Opened {
  readonly options: EtcdStoreOptions;
  readonly keyspace: Keyspace;
  readonly members: Members;
  readonly registration: Registration;
  /** The revision of this server's registration; etcd has an event with it. */
  readonly revision: number;
  readonly compacted: number;
}

class EtcdStore implements Store {
  readonly valueBytesMax = ETCD_VALUE_BYTES_MAX;
  readonly locks: ServerLocks;
  readonly peers: Registration;
  readonly #keyspace: Keyspace;
  readonly #members: Members;
  readonly #registration: Registration;
  readonly #feed: EtcdFeed;
  readonly #writer: EtcdWriter;
  readonly #compaction: Compaction;
  readonly #observe: Observe | undefined;
  readonly #progressMs: number;
  readonly #readMs: number;
  readonly #newest = new SharedRead(() => this.#askRevision());
  readonly #progress = new SharedRead(() => this.#writeProgress());
  #compacted: number;
  #closing: Promise<void> | undefined;

  constructor({ options, keyspace, members, registration, revision, compacted }: Opened) {
    const { now = wallClock, observe, times = {} } = options;
    this.#keyspace = keyspace;
    this.#members = members;
    this.#registration = registration;
    this.peers = registration;
    this.#observe = observe;
    this.#progressMs = times.progressMs ?? PROGRESS_MS;
    this.#readMs = times.readMs ?? READ_MS;
    this.#compacted = compacted;
    this.#feed = new EtcdFeed({
      members,
      keyspace,
      now,
      position: revision,
      onMark: (mark, at) => this.#writer.published(mark, at),
      onServers: () => registration.changed(),
      compacted: () => this.#compacted,
      onCompacted: (at) => this.#forget(at),
    });
    this.#writer = new EtcdWriter({
      members,
      keyspace,
      registration,
      now,
      feed: () => this.#feed,
      lifeMs: options.lifeMs,
      answerMs: times.answerMs,
    });
    this.locks = new ServerLocks({ members, keyspace, registration, now });
    this.#compaction = new Compaction(members, registration, (at) => this.#feed.needs(at));
  }

  get compacted(): number {
    return this.#compacted;
  }

  /** Resolves when the feed has published everything up to the revision. */
  revision(): Promise<number> {
    return this.#closing ? Promise.reject(storeClosed()) : this.#newest.answer();
  }

  prefetchRevision(): PrefetchedCalls | undefined {
    return this.#closing ? undefined : this.#newest.prefetchRevision();
  }

  async get(key: string): Promise<Stored | undefined> {
    this.#assertOpen();
    checkKey(key);
    if (key === '') return undefined;
    const { items } = await this.#read({ key: this.#keyspace.encode(key) });
    return items[0] && stored(key, items[0]);
  }

  async range(query: RangeQuery): Promise<RangePage> {
    this.#assertOpen();
    checkKey(query.start);
    if (query.end !== undefined) checkKey(query.end);
    if (query.revision !== undefined) return this.#rangeAt(query, query.revision);
    for (;;)
      try {
        return await this.#rangeAt(query, await this.revision());
      } catch (error) {
        // Another server has compacted the newest revision of a moment ago.
        if (!(error instanceof CompactedError)) throw error;
      }
  }

  write(write: Write): Promise<WriteResult> {
    const result = this.#writer.write(write);
    if (this.#observe) observeWrite(write, result, this.#observe);
    return result;
  }

  watch(
    after: number,
    listener: (changes: readonly Change[]) => void,
    passed?: (revision: number) => void,
  ): Subscription {
    return this.#feed.watch(after, listener, passed);
  }

  async compact(revision: number): Promise<void> {
    this.#assertOpen();
    if (revision > this.#feed.position) await this.#assertPast(revision);
    this.#forget(revision);
    await this.#compaction.compact(revision);
  }

  async stats(): Promise<StoreStats> {
    this.#assertOpen();
    const { bytesInUse } = decodeStatus(await this.#call(STATUS, Buffer.alloc(0)));
    return { bytes: bytesInUse };
  }

  async *backup(): AsyncGenerator<Buffer, void, undefined> {
    const revision = await this.revision();
    // Tell the other servers which revision is being read; without others this would waste a revision.
    const shared = (await this.#registration.servers()).length > 1;
    const reader: Reader = { revision };
    this.#compaction.readers.add(reader);
    try {
      if (shared) await this.#registration.pin(revision);
      yield* writeBackup(revision, this.#pages('', undefined, Number.POSITIVE_INFINITY, revision, 32));
    } finally {
      this.#compaction.readers.delete(reader);
      if (shared && !this.#closing) await this.#registration.pin(undefined);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Finish the writes that were accepted, so that subscribers see them; etcd may be unreachable, so not for ever.
    await Promise.race([this.#writer.close(), pause(CLOSE_MS)]);
    this.locks.close();
    const compacted = this.#compaction.close();
    this.#feed.close();
    await this.#registration.close();
    this.#members.close();
    await compacted;
  }

  async #askRevision(): Promise<number> {
    const before = this.#feed.position;
    const { revision } = await this.#read({ key: this.#keyspace.heartbeat });
    if (revision < before) {
      const error = new StoreUnavailableError(
        `etcd has gone back to revision ${revision}, and revision ${before} was seen already: it was restored from an older snapshot`,
        { permanent: true },
      );
      this.#feed.fail(error);
      throw error;
    }
    await this.#reached(revision);
    return revision;
  }

  /**
   * Waits until the feed is at a revision. If the revision is that of another program's key, which the watch does not
   * show, a key is written so that the feed moves on.
   */
  async #reached(revision: number): Promise<void> {
    const reached = this.#feed.reached(revision);
    if (this.#feed.position >= revision) return reached;
    let timer: NodeJS.Timeout | undefined;
    const behind = new Promise<'behind'>((resolve) => {
      timer = setTimeout(resolve, this.#progressMs, 'behind');
    });
    if ((await Promise.race([reached, behind])) !== 'behind') return clearTimeout(timer);
    await this.#progress.answer();
    await timely(reached, this.#readMs, () => 'the watch of etcd does not go on');
  }

  /** Writes a key of our own: its event has a newer revision than everything before, so the feed moves on. */
  async #writeProgress(): Promise<void> {
    await this.#call(PUT, encodePut(this.#keyspace.progress, Buffer.alloc(0)));
  }

  async #rangeAt(
    { start, end, limit = Number.POSITIVE_INFINITY }: RangeQuery,
    revision: number,
  ): Promise<RangePage> {
    if (revision > this.#feed.position) await this.#assertPast(revision);
    if (revision < this.#compacted) throw new CompactedError(revision, this.#compacted);
    // To etcd, an empty end is no end, and revision 0 is the present.
    if (revision === 0 || end === '') return { items: [], revision, more: false };
    const reader: Reader = { revision };
    this.#compaction.readers.add(reader);
    try {
      const items: Stored[] = [];
      const pages = this.#pages(start, end, limit, revision);
      for (;;) {
        const { done, value } = await pages.next();
        if (done) return { items, revision, more: value };
        items.push(...value);
      }
    } finally {
      this.#compaction.readers.delete(reader);
    }
  }

  /** Pages of a range; returns whether there are more keys behind the limit. */
  async *#pages(
    start: string,
    end: string | undefined,
    limit: number,
    revision: number,
    firstKeys = PAGE_KEYS,
  ): AsyncGenerator<readonly Stored[], boolean, undefined> {
    let key = this.#keyspace.encode(start);
    const rangeEnd = end === undefined ? this.#keyspace.objectsEnd : this.#keyspace.encode(end);
    if (limit === 0) {
      const { items } = await this.#read({ key, end: rangeEnd, limit: 1, revision, keysOnly: true });
      return items.length > 0;
    }
    let pageKeys = firstKeys;
    for (let left = limit; ; ) {
      const page = await this.#read({ key, end: rangeEnd, limit: Math.min(left, pageKeys), revision });
      this.#assertOpen();
      const items: Stored[] = [];
      let bytes = 1;
      for (const item of page.items) {
        items.push(stored(this.#keyspace.decode(item.key)!, item));
        bytes += item.value.length;
      }
      yield items;
      left -= items.length;
      if (!page.more || left <= 0) return page.more;
      pageKeys = Math.max(1, Math.min(PAGE_KEYS, Math.floor((PAGE_BYTES / bytes) * items.length)));
      key = Buffer.concat([page.items.at(-1)!.key, Buffer.alloc(1)]);
    }
  }

  async #read(request: RangeRequest): Promise<RangeAnswer> {
    try {
      return decodeRange(await this.#call(RANGE, encodeRange(request)));
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (!isCompacted(error)) throw asUnavailable(error);
      this.#forget(await oldestRevision(this.#members, this.#keyspace.heartbeat, this.#feed.position));
      throw new CompactedError(request.revision ?? 0, this.#compacted);
    }
  }

  async #call(path: string, message: Buffer): Promise<Buffer> {
    const answer = await this.#members.call(path, message, this.#readMs).catch((error: unknown) => {
      throw this.#closing ? storeClosed() : error;
    });
    this.#assertOpen();
    return answer;
  }

  async #assertPast(revision: number): Promise<void> {
    const newest = await this.revision();
    if (revision > newest) throw new FutureRevisionError(revision, newest);
  }

  #forget(revision: number): void {
    this.#compacted = Math.max(this.#compacted, revision);
  }

  #assertOpen(): void {
    if (this.#closing) throw storeClosed();
  }
}

function timely<T>(promise: Promise<T>, timeoutMs: number, why: () => string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new StoreTimeoutError(why())), timeoutMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
