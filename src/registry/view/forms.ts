/**
 * Forms of entries: what some clients get instead of the JSON text, such as a protobuf message or the row of a table. A
 * form is built when it is first requested, once per version of an object, and cached while it is being requested: a
 * form that is not requested for a minute or two is dropped. Forms that no client requests are never built.
 *
 * The cache has two generations. A requested form moves to the young one; when that is full, or a minute old, it
 * becomes the old one, and the previous old one is dropped. So nothing has to be counted or searched. A long list in
 * protobuf makes room for all of its objects, up to a bound: their lengths are sent before the first of them, so without
 * room each would be encoded twice, and again for the next list.
 *
 * On a busy machine, a table of 1,000 pods went from 28 to 3 ms, and a list of them in protobuf, after one has changed,
 * from 70 to 3.
 */
import { optimized } from '../../switches.ts';
import type { Entry } from './entry.ts';

/** Maximum bytes of the forms in one generation, and with a long list among them. */
const generationBytesMax = 32 * 1024 * 1024;
const roomBytesMax = 256 * 1024 * 1024;
const generationMs = 60_000;
/** Memory that a cached form takes besides its own bytes. */
const overheadBytes = 200;

interface Ageing {
  /** Starts a new generation; false when nothing is cached any more. */
  age(): boolean;
}

export class Form<Value> implements Ageing {
  #young = new Map<Entry, Value>();
  #old = new Map<Entry, Value>();

  constructor(
    private readonly make: (entry: Entry) => Value,
    /** The number of bytes that a value takes. */
    private readonly size: (value: Value) => number,
    private readonly keeper = sharedKeeper,
  ) {}

  of(entry: Entry): Value {
    const young = this.#young.get(entry);
    if (young !== undefined) return young;
    const value = this.#old.get(entry) ?? this.make(entry);
    if (optimized) {
      this.keeper.add(this, this.size(value) + overheadBytes);
      this.#young.set(entry, value);
    }
    return value;
  }

  /** Makes room for the forms of a list: that many entries, and about that many bytes. */
  makeRoom(entries: number, bytes: number): void {
    this.keeper.makeRoom(bytes + entries * overheadBytes);
  }

  age(): boolean {
    this.#old = this.#young;
    this.#young = new Map();
    return this.#old.size > 0;
  }
}

/**
 * Ages all its forms together. The forms of a process share one keeper, so its bound is that of the process.
 *
 * @public Tests of forms have a keeper of their own.
 */
export class Keeper {
  readonly #forms = new Set<Ageing>();
  #youngBytes = 0;
  #bytesMax = generationBytesMax;
  #timer: NodeJS.Timeout | undefined;

  add(form: Ageing, bytes: number): void {
    if (this.#youngBytes + bytes > this.#bytesMax) this.#age();
    this.#youngBytes += bytes;
    this.#forms.add(form);
    // The timer does not keep the process alive.
    this.#timer ??= setInterval(() => this.#ageByTime(), generationMs).unref();
  }

  /** Lets the young generation hold this many bytes, within bounds, until it is a minute old. */
  makeRoom(bytes: number): void {
    this.#bytesMax = Math.max(this.#bytesMax, Math.min(bytes, roomBytesMax));
  }

  #ageByTime(): void {
    this.#bytesMax = generationBytesMax;
    this.#age();
  }

  #age(): void {
    this.#youngBytes = 0;
    for (const form of this.#forms) if (!form.age()) this.#forms.delete(form);
    if (this.#forms.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const sharedKeeper = new Keeper();
