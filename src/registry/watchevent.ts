/** Watch events: one change of one object, with the line that tells it made at most once per type. */
import type { Entry } from './entry.ts';
import type { Filter } from './filter.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

const lineEnd = Buffer.from('}\n');
const lineStarts: Record<EventType, Buffer> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
};

/** The line that tells a watcher of an object. */
export function eventLine(type: EventType, entry: Entry): Buffer {
  const start = lineStarts[type];
  const line = Buffer.allocUnsafe(start.length + entry.length + lineEnd.length);
  start.copy(line);
  entry.document.copy(line, start.length, 0, entry.length);
  lineEnd.copy(line, start.length + entry.length);
  return line;
}

/** What one watcher is to be told of a change. */
export interface Notice {
  readonly type: EventType;
  readonly entry: Entry;
  /** The change behind it; undefined for the state a watch begins with. */
  readonly event: WatchEvent | undefined;
}

export class WatchEvent {
  #lines: Partial<Record<EventType, Buffer>> | undefined;
  #departed: Entry | undefined;

  constructor(
    readonly revision: number,
    readonly timeMs: number,
    /** The new state; undefined when the object was deleted. */
    readonly entry: Entry | undefined,
    /** The state before; undefined when the object was created. */
    readonly previous: Entry | undefined,
  ) {}

  get namespace(): string {
    return (this.entry ?? this.previous!).namespace;
  }

  get name(): string {
    return (this.entry ?? this.previous!).name;
  }

  /** What a watcher with this filter is told; undefined when the change does not concern it. */
  seenThrough(filter: Filter): Notice | undefined {
    if (!filter.covers(this.namespace, this.name)) return undefined;
    const now = this.entry !== undefined && filter.selects(this.entry);
    const before = this.previous !== undefined && filter.selects(this.previous);
    if (now) return { type: before ? 'MODIFIED' : 'ADDED', entry: this.entry!, event: this };
    if (before) return { type: 'DELETED', entry: this.departed, event: this };
    return undefined;
  }

  /** The last state of an object that is gone (or gone from a selection), under this change's revision. */
  get departed(): Entry {
    this.#departed ??= this.previous!.restamped(this.revision);
    return this.#departed;
  }

  /** The shared line of a notice about this event. */
  line(type: EventType, entry: Entry): Buffer {
    this.#lines ??= {};
    this.#lines[type] ??= eventLine(type, entry);
    return this.#lines[type];
  }

  /** Lets go of the lines once all live watchers have them; history keeps the states only. */
  forgetLines(): void {
    this.#lines = undefined;
    this.#departed = undefined;
  }
}
