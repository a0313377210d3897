/**
 * Follows one resource of another cluster by one watch, through everything that ends it:
 *
 *   (nothing recorded) ──► listing ──► watching ──ended by the server──► watching, from the last version
 *                             ▲            │
 *                             │            ├── cannot be reached, 429, 5xx ──► waiting ──► watching; what changed comes late
 *                             └── 410, another cluster: a gap, what changed is found by comparing
 *                                          └── 404 ──► gone        403 ──► refused, asked again from time to time
 */
import type { IncomingMessage } from 'node:http';
import { StatusError } from '../../api/errors/errors.ts';
import { type SecretMode, withSecretMode } from '../source/secret-values.ts';
import { askedWaitMs, pause, type SourceClient } from '../source/source-client.ts';
import { isDefinitions, type SourceKind, sourceName, sourcePath } from '../source/source-kinds.ts';
import type { SourceObjects } from '../source/source-objects.ts';
import type { FollowerFigures } from './follower-figures.ts';
import type { Recording, SourceChange } from './recording.ts';
import { removeOthers, versionOf, writeDifferences } from './source-listing.ts';
import { acceptedList, acceptedWatch, type SourceEvent, watchEvents } from './watch-events.ts';

/** A watch is ended by the server after a time between these. */
const watchMinSeconds = 300;
const watchMaxSeconds = 600;
/** Pauses after failures. */
const pauseFirstMs = 200;
const pauseMaxMs = 30_000;
/** How often a resource is asked for that may not be read. */
const refusedMs = 60_000;
/** A shorter time without a connection is not worth a note: all that changed comes after it. */
const outageMinMs = 3_000;
/** What changed during an outage has come when the watch has been open for so long. */
const catchUpMs = 3_000;
/** Changes and bytes per commit, and bytes that may wait for one. */
const commitChangesMax = 500;
const commitBytesMax = 4 * 1024 * 1024;
const waitingBytesMax = 16 * 1024 * 1024;

export interface FollowerParts {
  readonly client: SourceClient;
  readonly recording: Recording;
  readonly objects: SourceObjects;
  readonly figures: FollowerFigures;
  readonly secrets: SecretMode;
  readonly metadataOnly: boolean;
  readonly nowMs: () => number;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** The identity of the cluster, asked for again after a failure; '' where it is not known. */
  identity(): Promise<string>;
  /** Something failed that may mean that another cluster answers now. */
  failed(resource: string, why: string): void;
  /** A definition has changed. */
  definitionsChanged(): void;
  warn(message: string): void;
}

interface Waiting {
  readonly changes: readonly SourceChange[];
  readonly version: string;
  readonly bytes: number;
}

export class KindFollower {
  readonly #name: string;
  readonly #ending = new AbortController();
  readonly #accepts: { readonly list: string; readonly watch: string };
  /** When the source was last known to have told everything. */
  #seenMs: number;
  #failures = 0;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #isGone = false;
  /** It was listed, and is not watched yet. */
  #isNew = false;
  /** Since when there was no connection, until it is known whether anything changed meanwhile. */
  #outage: number | undefined;
  #noting: Promise<void> | undefined;
  /** The cluster that gave the newest version. */
  #cluster = '';
  /** Why events could not be written: those after them must not be either. */
  #unwritten: Error | undefined;

  constructor(
    readonly source: SourceKind,
    private readonly parts: FollowerParts,
  ) {
    this.#name = sourceName(source);
    // Kinds are made from whole definitions.
    const metadataOnly = parts.metadataOnly && !isDefinitions(source);
    this.#accepts = { list: acceptedList(metadataOnly), watch: acceptedWatch(metadataOnly) };
    this.#seenMs = parts.recording.seenMs(this.#name) ?? parts.nowMs();
  }

  get name(): string {
    return this.#name;
  }

  stop(): void {
    this.#ending.abort(new Error('the recording ends'));
  }

  /** The source does not have the resource any more. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Records what is there, where nothing is recorded yet. Throws what a list can be refused with. */
  async begin(): Promise<void> {
    if (this.parts.recording.position(this.#name)) return;
    await this.#list();
  }

  /** Resolves when it was stopped, or the resource is gone. */
  async run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted && !this.#isGone)
      try {
        await this.#checkCluster();
        const { recording } = this.parts;
        if (!recording.position(this.#name) || recording.openGap(this.#name)?.isLossy) await this.#list();
        await this.#watch();
      } catch (error) {
        if (signal.aborted) break;
        await this.#recover(error as Error).catch((failure: Error) => {
          if (!signal.aborted) this.parts.warn(`${this.#name}: ${failure.message}`);
        });
      }
    await this.#writing?.catch(() => undefined);
    this.parts.figures.drop(this.#name);
  }

  /** Versions of another cluster say nothing: everything is compared. */
  async #checkCluster(): Promise<void> {
    const { recording, identity } = this.parts;
    const position = recording.position(this.#name);
    const cluster = await identity();
    this.#cluster = cluster || (position?.cluster ?? '');
    if (position?.cluster && cluster && position.cluster !== cluster)
      await this.#missed('another cluster answered');
  }

  #missed(why: string): Promise<void> {
    return this.parts.recording.beginGap(this.#name, { fromMs: this.#seenMs, why, isLossy: true });
  }

  async #list(): Promise<void> {
    const { client, recording, figures, nowMs } = this.parts;
    figures.set(this.#name, 'listing');
    const isAgain = recording.openGap(this.#name) !== undefined;
    const askedMs = nowMs();
    const cluster = await this.parts.identity();
    this.#cluster = cluster;
    const { version, changes } = await writeDifferences(this.source, {
      client,
      recording,
      accept: this.#accepts.list,
      stored: (item) => this.#stored(item),
      id: () => this.parts.objects.idOf(this.source),
    });
    await recording.take(this.#name, [], { resourceVersion: version, seenMs: askedMs, cluster });
    if (isAgain) {
      await recording.endGap(this.#name, nowMs());
      figures.changes += changes;
    }
    this.#seenMs = askedMs;
    this.#isNew = true;
    if (isDefinitions(this.source)) this.parts.definitionsChanged();
  }

  #stored(item: unknown) {
    const { objects, secrets } = this.parts;
    const object = objects.named(this.source, item, this.#skipped);
    if (!object) return [];
    const version = versionOf(object);
    return objects
      .stored(this.source, withSecretMode(object, secrets), this.#skipped)
      .map((stored) => ({ ...stored, version }));
  }

  readonly #skipped = (why: string): void => {
    this.parts.figures.skipped++;
    this.parts.warn(`${this.#name}: an object is not recorded: ${why}`);
  };

  async #watch(): Promise<void> {
    const { client, recording, figures, nowMs, random } = this.parts;
    const { resourceVersion } = recording.position(this.#name)!;
    const seconds = watchMinSeconds + Math.floor(random() * (watchMaxSeconds - watchMinSeconds));
    const query = new URLSearchParams({
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(seconds),
      resourceVersion,
    });
    const { signal } = this.#ending;
    this.#unwritten = undefined;
    const answer = await client.stream(`${sourcePath(this.source)}?${query}`, this.#accepts.watch, signal);
    figures.set(this.#name, 'watching');
    const openedMs = nowMs();
    const catchUp = await this.#noteOutage(openedMs);
    try {
      await this.#follow(answer);
      // Ended by the server, as it does from time to time.
      this.#seenMs = nowMs();
      if (nowMs() - openedMs < catchUpMs) await this.#pause();
    } catch (error) {
      // A connection that breaks while it is caught up has sent everything until then; a silently dead one may have missed changes.
      const isSilent = (error as NodeJS.ErrnoException).code === 'ETIMEDOUT';
      const hasCaughtUp = nowMs() - openedMs >= catchUpMs;
      if (hasCaughtUp && !isSilent && !(error instanceof StatusError)) this.#seenMs = nowMs();
      throw error;
    } finally {
      answer.destroy();
      await catchUp?.();
    }
  }

  /**
   * After a time without a connection, what comes at once is what changed meanwhile: a gap, if anything does. Returns what is
   * to be done at the end.
   */
  async #noteOutage(openedMs: number): Promise<(() => Promise<void>) | undefined> {
    const { recording } = this.parts;
    // It may have waited for others to be listed: that is no outage.
    if (this.#isNew) this.#seenMs = openedMs;
    this.#isNew = false;
    const isOutage = openedMs - this.#seenMs >= outageMinMs;
    this.#outage = isOutage && !recording.openGap(this.#name) ? this.#seenMs : undefined;
    if (!isOutage && !recording.openGap(this.#name)) return undefined;
    let isOver = false;
    const end = async (): Promise<void> => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#outage = undefined;
      await this.#noting;
      await this.#writing?.catch(() => undefined);
      const open = recording.openGap(this.#name);
      if (open && !open.isLossy) await recording.endGap(this.#name, openedMs);
    };
    // What has arrived while this process was busy is read first.
    const timer = setTimeout(
      () => setImmediate(() => void end().catch((error: Error) => this.parts.warn(error.message))),
      catchUpMs,
    );
    return end;
  }

  /** Something was changed during an outage. */
  async #noteMissed(): Promise<void> {
    const fromMs = this.#outage;
    if (fromMs === undefined) return;
    this.#outage = undefined;
    const why = 'there was no connection; every change was fetched afterwards';
    this.#noting = this.parts.recording.beginGap(this.#name, { fromMs, why, isLossy: false });
    await this.#noting;
  }

  async #follow(answer: IncomingMessage): Promise<void> {
    const { figures, nowMs } = this.parts;
    for await (const events of watchEvents(answer)) {
      if (this.#unwritten) throw this.#unwritten;
      this.#failures = 0;
      this.#seenMs = nowMs();
      figures.arrived(this.#name, this.#seenMs);
      if (events.some(({ type }) => type !== 'BOOKMARK')) await this.#noteMissed();
      for (const event of events) this.#queue(event);
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
      // Errors are thrown where the next events are waited for, at the latest at the end.
      this.#writing.catch(() => undefined);
      if (this.#waitingBytes > waitingBytesMax) await this.#writing;
    }
    await this.#writing;
    if (this.#unwritten) throw this.#unwritten;
  }

  #queue({ type, object: item, bytes }: SourceEvent): void {
    const { objects } = this.parts;
    const version = versionOf(item);
    let changes: readonly SourceChange[] = [];
    if (type === 'DELETED') {
      const object = objects.named(this.source, item, this.#skipped);
      const key = object && objects.keyOf(this.source, object);
      if (key !== undefined) changes = [{ key, value: null, version }];
    } else if (type !== 'BOOKMARK') changes = this.#stored(item);
    // An event without a version cannot be gone on from; API servers send none.
    if (version === '') throw new Error('an event has no resourceVersion');
    this.#waiting.push({ changes, version, bytes });
    this.#waitingBytes += bytes;
  }

  /** Writes what waits, in commits of a bounded size. What could not be written comes again with the next watch. */
  async #write(): Promise<void> {
    const { recording, figures, nowMs } = this.parts;
    const cluster = this.#cluster;
    try {
      while (this.#waiting.length > 0) {
        const taken = this.#take();
        const changes = taken.flatMap((one) => one.changes);
        const { version } = taken.at(-1)!;
        await recording.take(this.#name, changes, { resourceVersion: version, seenMs: nowMs(), cluster });
        figures.written(this.#name, changes.length, nowMs());
        if (this.#waiting.length > 0) figures.arrived(this.#name, nowMs());
        if (changes.length > 0 && isDefinitions(this.source)) this.parts.definitionsChanged();
      }
    } catch (error) {
      this.#unwritten = error as Error;
      this.#waiting = [];
      this.#waitingBytes = 0;
      throw error;
    }
  }

  #take(): readonly Waiting[] {
    let count = 0;
    let changes = 0;
    let bytes = 0;
    for (const one of this.#waiting) {
      if (count > 0 && (changes >= commitChangesMax || bytes + one.bytes > commitBytesMax)) break;
      count++;
      changes += one.changes.length;
      bytes += one.bytes;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  async #recover(error: Error): Promise<void> {
    const { figures, recording } = this.parts;
    await this.#writing?.catch(() => undefined);
    const code = error instanceof StatusError ? error.code : 0;
    if (code === 410 || isTooLarge(error)) {
      await this.#missed('the cluster had forgotten what changed');
      if (this.#failures++ > 0) await this.#pause();
      return;
    }
    if (code === 404) {
      this.#isGone = true;
      const id = this.parts.objects.idOf(this.source);
      if (id !== undefined) figures.changes += await removeOthers(recording, id, new Set());
      await recording.endGap(this.#name, this.parts.nowMs());
      await recording.forget(this.#name);
      return;
    }
    figures.set(this.#name, code === 403 ? 'refused' : 'waiting');
    if (code === 403) {
      if (recording.position(this.#name)) await this.#missed('it could not be read (403)');
      await pause(refusedMs, this.#ending.signal);
      return;
    }
    this.parts.failed(this.#name, error.message || String((error as NodeJS.ErrnoException).code));
    const askedMs = askedWaitMs(error);
    this.#failures++;
    await (askedMs === undefined ? this.#pause() : pause(askedMs, this.#ending.signal));
  }

  #pause(): Promise<void> {
    const mostMs = Math.min(pauseMaxMs, pauseFirstMs * 2 ** Math.min(this.#failures, 10));
    return pause(mostMs * (0.5 + this.parts.random() / 2), this.#ending.signal);
  }
}

/** A version that the source has not reached: it was restored from a backup. */
const isTooLarge = (error: Error): boolean =>
  error instanceof StatusError && error.code === 504 && /too large resource version/i.test(error.message);
