/** Watch events: one change of one object, and what watchers are told of it. */
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
function eventLine(type: EventType, entry: Entry): Buffer {
  const start = lineStarts[type];
  const line = Buffer.allocUnsafe(start.length + entry.length + lineEnd.length);
  start.copy(line);
  entry.document.copy(line, start.length, 0, entry.length);
  lineEnd.copy(line, start.length + entry.length);
  return line;
}

/** What a watcher is told of an object. Watchers that are told the same share the notice, and all made from it. */
export class Notice {
  #entry: Entry | undefined;
  /** What a server has made of this notice and those that follow it; kept for the next stream that sends the same. */
  batch: { readonly notices: readonly Notice[]; readonly bytes: Buffer } | undefined;

  constructor(
    readonly type: EventType,
    /** The newest state of the object; of one that the watcher loses sight of, the last state before that. */
    private readonly state: Entry,
    /** The change behind it; undefined for the state a watch begins with. */
    readonly event: WatchEvent | undefined,
  ) {}

  /**
   * The object as the watcher is shown it: the last state is under the revision of the change. That copies the text, so it
   * is done when it is asked for: controllers look at the change alone.
   */
  get entry(): Entry {
    this.#entry ??= this.type === 'DELETED' ? this.state.restamped(this.event!.revision) : this.state;
    return this.#entry;
  }

  /** About as many bytes as the line that tells of it. */
  get length(): number {
    return this.state.length;
  }

  get line(): Buffer {
    return eventLine(this.type, this.entry);
  }
}

export class WatchEvent {
  #notices: Partial<Record<EventType, Notice>> | undefined;

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
    if (now) return this.#notice(before ? 'MODIFIED' : 'ADDED');
    return before ? this.#notice('DELETED') : undefined;
  }

  #notice(type: EventType): Notice {
    this.#notices ??= {};
    this.#notices[type] ??= new Notice(type, type === 'DELETED' ? this.previous! : this.entry!, this);
    return this.#notices[type];
  }

  /** Lets go of the notices once all live watchers have them; history keeps the states only. */
  forgetNotices(): void {
    this.#notices = undefined;
  }
}
