/**
 * Watch streams: a watcher's notices as lines of JSON, over HTTP or a WebSocket. Sends one line per event, bookmarks
 * for clients that want them, and ends at the timeout of the client or the server.
 */
import { internal, type Status, StatusError, watchExpired } from '../../api/errors.ts';
import { jsonText } from '../../api/jsontext.ts';
import type { Kind } from '../../api/kind.ts';
import {
  type ColumnDefinition,
  columnDefinitions,
  type IncludeObject,
  partialObject,
  tableRow,
} from '../../api/table.ts';
import { converted } from '../../registry/conversion.ts';
import type { View } from '../../registry/view.ts';
import type { OpenWatch } from '../../registry/watch.ts';
import type { Watcher } from '../../registry/watcher.ts';
import type { Notice } from '../../registry/watchevent.ts';
import type { Negotiated } from '../http/negotiation.ts';
import type { WatchCounter } from '../observe/watchmetrics.ts';

const bookmarkIntervalMs = 60_000;
/** The last bookmark is sent this long before the end, so that a client can resume from it. */
const lastBookmarkMs = 2_000;

/** Where lines are written to. */
export interface Outlet {
  /** Returns false to apply back-pressure until onDrain. */
  write(lines: readonly Buffer[]): boolean;
  /** The same for notices in their stored form; outlets with the same notices can share their bytes. */
  writeShared(notices: readonly Notice[]): boolean;
  end(): void;
}

export interface StreamOptions {
  readonly kind: Kind;
  readonly negotiated: Negotiated;
  readonly include: IncludeObject;
  readonly bookmarks: boolean;
  /** Send an annotated bookmark after the initial state. */
  readonly markInitialState: boolean;
  readonly timeoutMs: number;
  readonly nowMs: () => number;
  /** Bytes that may be written before the outlet has sent the previous ones. */
  readonly backlogBytesMax: number;
  /** Called when the outlet applies back-pressure, and events stay in history. */
  readonly backlogFull: () => void;
  readonly counter: WatchCounter;
  /** Called for internal errors of the server. */
  readonly report: (error: Error) => void;
}

export class WatchStream {
  #watcher: Watcher | undefined;
  #columns: ColumnDefinition[] | null | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  #ended = false;
  readonly ended: Promise<void>;
  #resolveEnded!: () => void;

  constructor(
    private readonly view: View,
    private readonly outlet: Outlet,
    private readonly options: StreamOptions,
  ) {
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  run(open: OpenWatch): void {
    const { timeoutMs, bookmarks, markInitialState, kind, negotiated, counter } = this.options;
    const asStored = kind === kind.storage && !negotiated.transform;
    this.#timers.push(setTimeout(() => this.#timeOut(), timeoutMs));
    if (bookmarks) {
      this.#timers.push(setInterval(() => this.#bookmark(), bookmarkIntervalMs));
      if (timeoutMs > lastBookmarkMs)
        this.#timers.push(setTimeout(() => this.#bookmark(), timeoutMs - lastBookmarkMs));
    }
    this.#watcher = open.start({
      patient: true,
      sliceBytesMax: this.options.backlogBytesMax,
      send: (notices) => {
        const reading =
          kind.conversion &&
          converted(
            kind,
            notices.map(({ entry }) => entry),
          );
        if (reading) return this.#sendLater(reading, notices);
        counter.events += notices.length;
        const more = asStored
          ? this.outlet.writeShared(notices)
          : this.outlet.write(notices.map((notice) => this.#line(notice)));
        if (!more && bytesOf(notices) >= this.options.backlogBytesMax) this.options.backlogFull();
        return more;
      },
      stateSent: () => {
        if (markInitialState) this.outlet.write([this.#bookmarkLine(open.stateRevision, true)]);
      },
      expired: () => {
        counter.expired++;
        this.fail(watchExpired(this.view.compacted, this.view.compacted).status);
      },
      ended: () => this.end(),
      failed: (error) => {
        this.options.report(error as Error);
        this.fail(internal('the server could not tell of a change').status);
      },
    });
    if (this.#ended) this.#watcher.close();
  }

  /** Sends events when their objects are converted; the watcher waits meanwhile. */
  #sendLater(reading: Promise<void>, notices: readonly Notice[]): boolean {
    reading.then(
      () => {
        if (this.#ended) return;
        this.options.counter.events += notices.length;
        if (this.outlet.write(notices.map((notice) => this.#line(notice)))) this.#watcher?.resume();
      },
      (error) => {
        if (error instanceof StatusError) return this.fail(error.status);
        this.options.report(error as Error);
        this.fail(internal('the server could not tell of a change').status);
      },
    );
    return false;
  }

  onDrain(): void {
    this.#watcher?.resume();
  }

  #timeOut(): void {
    this.#watcher?.pump();
    this.end();
  }

  /** Ends the stream; safe to call twice. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#watcher?.close();
    this.outlet.end();
    this.#resolveEnded();
  }

  /** Sends an ERROR event, and ends. */
  fail(status: Status): void {
    if (this.#ended) return;
    this.outlet.write([Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)]);
    this.end();
  }

  /** A bookmark is only sent to a watcher that has seen all events. */
  #bookmark(): void {
    this.#watcher?.pump();
    if (this.#watcher?.caughtUp) this.outlet.write([this.#bookmarkLine(this.view.revision, false)]);
  }

  #bookmarkLine(revision: number, initialEnd: boolean): Buffer {
    const { kind, negotiated } = this.options;
    const metadata = {
      resourceVersion: String(revision),
      ...(initialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
    };
    const version = negotiated.transformVersion;
    const partial = { kind: 'PartialObjectMetadata', apiVersion: version, metadata };
    const object =
      negotiated.transform === 'Table'
        ? this.#table({ cells: [], object: partial }, String(revision))
        : negotiated.transform
          ? partial
          : { kind: kind.kind, apiVersion: kind.apiVersion, metadata };
    return Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
  }

  #line(notice: Notice): Buffer {
    const { transform, transformVersion } = this.options.negotiated;
    const { kind, include, nowMs } = this.options;
    const whole = notice.entry.object(kind);
    const object = !transform
      ? whole
      : transform === 'Table'
        ? this.#table(
            tableRow(kind, whole, include, transformVersion, nowMs()),
            whole.metadata.resourceVersion,
          )
        : partialObject(whole, transformVersion);
    return Buffer.from(`${jsonText({ type: notice.type, object })}\n`);
  }

  /** Only the first table has column definitions. */
  #table(row: object, resourceVersion: string | undefined): object {
    this.#columns = this.#columns === undefined ? columnDefinitions(this.options.kind) : null;
    return {
      kind: 'Table',
      apiVersion: this.options.negotiated.transformVersion,
      metadata: { resourceVersion },
      columnDefinitions: this.#columns,
      rows: [row],
    };
  }
}

const bytesOf = (notices: readonly Notice[]): number =>
  notices.reduce((sum, { entry }) => sum + entry.length, 0);
