/** Watching clients: start in the past, at the present, or where they stopped. */
import type { StreamEvent } from '../support/stream.ts';
import { Stream } from '../support/stream.ts';
import { type Change, keyOf, pathOf, type Scope, textOf, versionOf } from './log.ts';
import { type Random, type Recording, someScope } from './traffic.ts';
import type { WatchLine, WatchRecord } from './watch-properties.ts';

/** A watch is closed after at most this many lines, and continued elsewhere. */
const linesMax = 150;
const openMaxMs = 1_500;
/** With this timeout, the server sends a bookmark two seconds before the end, and at once after an initial state. */
const timeoutSeconds = 3;

const isError = ({ type }: StreamEvent): boolean => type === 'ERROR';

export class WatchingClient {
  readonly records: WatchRecord[] = [];
  /** Where this client stopped: the scope, and the version up to which it has all events. */
  #stopped: { readonly scope: Scope; readonly version: number } | undefined;

  constructor(
    private readonly name: string,
    private readonly random: Random,
    private readonly recording: Recording,
  ) {}

  /** One watch, closed at a random point. */
  async step(url: string): Promise<void> {
    const { base, newest } = this.recording;
    const dice = this.random(10);
    if (this.#stopped && dice < 5) await this.#watch(url, this.#stopped.scope, this.#stopped.version);
    else if (dice < 7) await this.#watch(url, someScope(this.random), base + this.random(newest - base + 1));
    else if (dice < 8) await this.#watch(url, someScope(this.random), newest);
    else await this.#watch(url, someScope(this.random), undefined);
  }

  async #watch(url: string, scope: Scope, after: number | undefined): Promise<void> {
    const query = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(timeoutSeconds),
      ...(after === undefined
        ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
        : { resourceVersion: String(after) }),
    };
    const stream = await Stream.open(`${url}${pathOf(scope, query)}`);
    const enough = 1 + this.random(linesMax);
    const timer = setTimeout(() => stream.close(), 200 + this.random(openMaxMs));
    await stream.until(
      (events) => events.length >= enough || isError(events.at(-1) ?? { type: '', object: {} }),
    );
    clearTimeout(timer);
    stream.close();
    await stream.ended;
    this.#keep(scope, after, stream.events);
  }

  #keep(scope: Scope, after: number | undefined, events: readonly StreamEvent[]): void {
    const { recording } = this;
    const name = `${this.name}, watch ${this.records.length}`;
    const error = events.find(isError);
    if (error) {
      if (error.object.code !== 410 || after === undefined)
        throw new Error(`${name} from ${after}: ${JSON.stringify(error.object)}`);
      const last = lastVersion(linesOf(scope, events)) ?? after;
      recording.expiries.push({ what: name, version: last, newestKnown: recording.newest });
    }
    const lines = linesOf(scope, events);
    this.records.push({ name: `${name} of ${JSON.stringify(scope)} after ${after}`, scope, after, lines });
    const isWhole = after !== undefined || lines.some((line) => line.type === 'BOOKMARK');
    const version = (isWhole ? lastVersion(lines) : undefined) ?? after;
    this.#stopped = version === undefined || error ? undefined : { scope, version };
    recording.newest = Math.max(recording.newest, version ?? 0);
  }
}

const lastVersion = (lines: readonly WatchLine[]): number | undefined => lines.at(-1)?.version;

function linesOf({ resource }: Scope, events: readonly StreamEvent[]): WatchLine[] {
  return events
    .filter((event) => !isError(event))
    .map(({ type, object }) =>
      type === 'BOOKMARK'
        ? {
            type,
            version: versionOf(object),
            endsState: object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true',
          }
        : { type, version: versionOf(object), key: keyOf(resource, object.metadata), text: textOf(object) },
    );
}

/** Watches all objects of a resource from the first version on, across restarts. What it records is the log. */
export class Witness {
  readonly changes: Change[] = [];
  #stream: Stream | undefined;
  #taken = 0;

  constructor(
    private readonly resource: string,
    private readonly base: number,
  ) {}

  get last(): number {
    return this.changes.at(-1)?.version ?? this.base;
  }

  async open(url: string): Promise<void> {
    const query = { watch: 'true', resourceVersion: String(this.last) };
    this.#stream = await Stream.open(`${url}${pathOf({ resource: this.resource }, query)}`);
    this.#taken = 0;
  }

  /** Takes the events that have arrived; after the server has ended, these are all. */
  async take(): Promise<void> {
    await this.#stream?.ended;
    this.#takeIn();
  }

  /** Resolves when all events up to a version of this resource have arrived. */
  async reached(version: number): Promise<void> {
    await this.#stream!.until((events) => events.some(({ object }) => versionOf(object) >= version));
    this.#takeIn();
  }

  close(): void {
    this.#stream?.close();
  }

  #takeIn(): void {
    const events = this.#stream?.events ?? [];
    for (; this.#taken < events.length; this.#taken++) {
      const { type, object } = events[this.#taken]!;
      if (type === 'ERROR') throw new Error(`the witness was turned away: ${JSON.stringify(object)}`);
      const key = keyOf(this.resource, object.metadata);
      this.changes.push({ version: versionOf(object), key, object: type === 'DELETED' ? undefined : object });
    }
  }
}
