/** Watch events: one change of one object, as ADDED, MODIFIED or DELETED for watchers with a filter. */
import type { Kind } from '../../api/kind/kind.ts';
import type { Entry } from './entry.ts';
import type { Filter } from './filter.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

const lineEnd = Buffer.from('}\n');
const lineStarts: Record<EventType, Buffer> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
};

/** How notices are sent over the network. Watchers that get the same notices in the same form share the bytes. */
export interface NoticeForm {
  bytes(notice: Notice): Buffer;
}

/** One line of JSON for each notice. */
export const jsonLines: NoticeForm = { bytes: ({ type, entry }) => eventLine(type, entry) };

function eventLine(type: EventType, entry: Entry): Buffer {
  const start = lineStarts[type];
  const line = Buffer.allocUnsafe(start.length + entry.length + lineEnd.length);
  start.copy(line);
  entry.document.copy(line, start.length, 0, entry.length);
  lineEnd.copy(line, start.length + entry.length);
  return line;
}

/** Puts the bytes of notices together, such as to a chunk of HTTP/1.1. */
export type Framing = (lines: readonly Buffer[]) => Buffer;

/** The encoded bytes of some notices. */
interface NoticeBatch {
  readonly form: NoticeForm;
  readonly framing: Framing;
  readonly notices: readonly Notice[];
  readonly bytes: Buffer;
  /** A batch in another form or framing. */
  readonly next: NoticeBatch | undefined;
}

/** An event type with an object, as a watcher gets it. Watchers that get the same share the notice and its bytes. */
export class Notice {
  #entry: Entry | undefined;
  /**
   * The bytes of this notice and those after it, for the next stream that sends the same; one batch for each form and
   * framing.
   */
  #batches: NoticeBatch | undefined;

  constructor(
    readonly type: EventType,
    /** The newest state of the object; for an object that no longer matches the filter, the last state that did. */
    private readonly state: Entry,
    /** The change; undefined for the initial state of a watch. */
    readonly event: WatchEvent | undefined,
  ) {}

  /**
   * The object as the watcher gets it. A last state is shown under the revision of the change; that copies the text, so
   * it is done on demand: controllers need only the change.
   */
  get entry(): Entry {
    this.#entry ??= this.type === 'DELETED' ? this.state.restamped(this.event!.revision) : this.state;
    return this.#entry;
  }

  /** Approximate number of bytes of the line for this notice. */
  get length(): number {
    return this.state.length;
  }

  /** The bytes of notices that begin with this one; the cached ones, if the watcher before got the same. */
  bytesWith(notices: readonly Notice[], form: NoticeForm, framing: Framing): Buffer {
    let known = this.#batches;
    while (known && !isIn(known, form, framing)) known = known.next;
    if (known && isSame(known.notices, notices)) return known.bytes;
    const bytes = framing(notices.map(form.bytes));
    // The initial state of a watch is made for it alone.
    if (this.event)
      this.#batches = { form, framing, notices, bytes, next: without(form, framing, this.#batches) };
    return bytes;
  }
}

const isIn = (batch: NoticeBatch, form: NoticeForm, framing: Framing): boolean =>
  batch.form === form && batch.framing === framing;

const isSame = (a: readonly Notice[], b: readonly Notice[]): boolean =>
  a.length === b.length && a.every((notice, i) => notice === b[i]);

function without(
  form: NoticeForm,
  framing: Framing,
  batch: NoticeBatch | undefined,
): NoticeBatch | undefined {
  if (!batch) return undefined;
  return isIn(batch, form, framing) ? batch.next : { ...batch, next: without(form, framing, batch.next) };
}

export class WatchEvent {
  #notices: Partial<Record<EventType, Notice>> | undefined;
  readonly #entry: Entry | undefined;
  readonly #previous: Entry | undefined;

  constructor(
    readonly revision: number,
    readonly timeMs: number,
    entry: Entry | undefined,
    previous: Entry | undefined,
  ) {
    this.#entry = entry;
    this.#previous = previous;
  }

  /** The new state; undefined when the object was deleted. */
  get entry(): Entry | undefined {
    return this.#entry;
  }

  /** The state before; undefined when the object was created. */
  get previous(): Entry | undefined {
    return this.#previous;
  }

  /** The event with its states in memory (`stored-event.ts`). */
  get loaded(): WatchEvent {
    return this;
  }

  /** The kind was replaced. */
  reread(kind: Kind): void {
    this.#entry?.reread(kind);
    this.#previous?.reread(kind);
  }

  get namespace(): string {
    return (this.entry ?? this.previous!).namespace;
  }

  get name(): string {
    return (this.entry ?? this.previous!).name;
  }

  /** What a watcher with this filter gets; undefined when the filter selects the object neither before nor after. */
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

  /** Frees the notices once all current watchers have got them; history needs only the states. */
  forgetNotices(): void {
    this.#notices = undefined;
  }
}
