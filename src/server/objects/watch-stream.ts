/**
 * Watch streams: a watcher's notices as lines of JSON or frames of protobuf, over HTTP or a WebSocket. Sends one per
 * event, bookmarks for clients that want them, and ends at the timeout of the client or the server.
 */
import { internal, type Status, StatusError, watchExpired } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { columnDefinitions, type IncludeObject, partialObject } from '../../api/kind/table.ts';
import { type Model, modelOf } from '../../api/model/model.ts';
import { encodeDocument, eventFrame } from '../../api/protobuf/protobuf-envelope.ts';
import { jsonText } from '../../api/text/json-text.ts';
import type { JsonObject } from '../../api/text/object.ts';
import type { OpenWatch } from '../../registry/verbs/watch.ts';
import { converted } from '../../registry/view/entry-conversion.ts';
import { framesOfKind } from '../../registry/view/entry-messages.ts';
import type { View } from '../../registry/view/view.ts';
import { jsonLines, type Notice, type NoticeForm } from '../../registry/view/watch-event.ts';
import type { Watcher } from '../../registry/view/watcher.ts';
import type { Negotiated } from '../http/negotiation.ts';
import type { WatchCounter } from '../observe/watch-metrics.ts';
import type { Outlet } from '../wire/outlet.ts';
import { TableText } from './table-text.ts';

const bookmarkIntervalMs = 60_000;
/** The last bookmark is sent this long before the end, so that a client can resume from it. */
const lastBookmarkMs = 2_000;

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
  #hasColumns = false;
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
    const { timeoutMs, bookmarks, markInitialState, counter } = this.options;
    const { kind } = this.options;
    const form = this.#sharedForm();
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
        if (reading) return this.#sendLater(reading, notices, form);
        counter.events += notices.length;
        const more = this.#write(notices, form);
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
      failed: (error) => this.#failFor(error),
    });
    if (this.#ended) this.#watcher.close();
  }

  /** Sends events when their objects are converted; the watcher waits meanwhile. */
  #sendLater(reading: Promise<void>, notices: readonly Notice[], form: NoticeForm | undefined): boolean {
    reading.then(
      () => {
        if (this.#ended) return;
        this.options.counter.events += notices.length;
        if (this.#write(notices, form)) this.#watcher?.resume();
      },
      (error) => this.#failFor(error),
    );
    return false;
  }

  #failFor(error: unknown): void {
    if (error instanceof StatusError) return this.fail(error.status);
    this.options.report(error as Error);
    this.fail(internal('the server could not tell of a change').status);
  }

  #write(notices: readonly Notice[], form: NoticeForm | undefined): boolean {
    return form
      ? this.outlet.writeShared(notices, form)
      : this.outlet.write(notices.map((notice) => this.#line(notice)));
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
    this.outlet.write([this.#event('ERROR', status, modelOf('Status'))]);
    this.end();
  }

  /** A bookmark is only sent to a watcher that has seen all events. */
  #bookmark(): void {
    this.#watcher?.pump();
    if (this.#watcher?.caughtUp) this.outlet.write([this.#bookmarkLine(this.view.revision, false)]);
  }

  /** The form that all watchers with the same request share; undefined when each gets its own lines. */
  #sharedForm(): NoticeForm | undefined {
    const { kind, negotiated } = this.options;
    if (negotiated.format === 'protobuf') return framesOfKind(kind, negotiated.transformVersion);
    return kind === kind.storage && !negotiated.transform ? jsonLines : undefined;
  }

  /** Encodes a BOOKMARK or ERROR event, which this stream makes itself. */
  #event(type: 'BOOKMARK' | 'ERROR', object: object, model: Model): Buffer {
    if (this.options.negotiated.format !== 'protobuf')
      return Buffer.from(`${JSON.stringify({ type, object })}\n`);
    const { kind, apiVersion, ...value } = object as JsonObject & { kind: string; apiVersion: string };
    return eventFrame(type, encodeDocument({ kind, apiVersion }, model, value));
  }

  #bookmarkLine(revision: number, initialEnd: boolean): Buffer {
    const { kind, negotiated } = this.options;
    const metadata = {
      resourceVersion: String(revision),
      ...(initialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
    };
    const version = negotiated.transformVersion;
    const partial = { kind: 'PartialObjectMetadata', apiVersion: version, metadata };
    if (negotiated.transform === 'Table')
      return this.#event('BOOKMARK', this.#bookmarkTable(partial, String(revision)), modelOf('Table'));
    if (negotiated.transform) return this.#event('BOOKMARK', partial, modelOf('PartialObjectMetadata'));
    return this.#event('BOOKMARK', { kind: kind.kind, apiVersion: kind.apiVersion, metadata }, kind.model);
  }

  #bookmarkTable(object: object, resourceVersion: string): object {
    const first = this.#isFirstTable();
    return {
      kind: 'Table',
      apiVersion: this.options.negotiated.transformVersion,
      metadata: { resourceVersion },
      columnDefinitions: first ? columnDefinitions(this.options.kind) : null,
      rows: [{ cells: [], object }],
    };
  }

  #line({ type, entry }: Notice): Buffer {
    const { transform, transformVersion } = this.options.negotiated;
    const { kind, include, nowMs } = this.options;
    if (transform === 'Table') {
      const text = new TableText(kind, transformVersion, include, nowMs());
      const table = text.one(entry, this.#isFirstTable());
      return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), table, lineEnd]);
    }
    const whole = entry.shown(kind);
    const object = transform ? partialObject(whole, transformVersion) : whole;
    return Buffer.from(`${jsonText({ type, object })}\n`);
  }

  /** Only the first table has column definitions. */
  #isFirstTable(): boolean {
    const first = !this.#hasColumns;
    this.#hasColumns = true;
    return first;
  }
}

const lineEnd = Buffer.from('}\n');

const bytesOf = (notices: readonly Notice[]): number =>
  notices.reduce((sum, { entry }) => sum + entry.length, 0);
