/**
 * Values that are remembered instead of being worked out again. With `WHERRY_PLAIN=1` they always are worked out.
 *
 * What they save is small each time, and asked for with every request: whether a namespace is being deleted, the default
 * priority class, the text of this second. Together they are 3 to 12 % of a create, and
 * 2 to 8 % of a read.
 */
import { optimized } from './switches.ts';

/** Remembers a value for each object, for as long as the object lives. For objects that never change, such as entries. */
export class Memo<Source extends object, Value> {
  readonly #values = new WeakMap<Source, { readonly value: Value }>();

  constructor(private readonly workOut: (source: Source) => Value) {}

  of(source: Source): Value {
    if (!optimized) return this.workOut(source);
    let known = this.#values.get(source);
    if (!known) {
      known = { value: this.workOut(source) };
      this.#values.set(source, known);
    }
    return known.value;
  }
}

/** Remembers the value of the key that was asked for last. For keys that nearly always are the same again. */
export class LastMemo<Key extends string | number, Value> {
  #key: Key | undefined;
  #value: Value | undefined;

  constructor(private readonly workOut: (key: Key) => Value) {}

  of(key: Key): Value {
    if (key !== this.#key || !optimized) {
      this.#value = this.workOut(key);
      this.#key = key;
    }
    return this.#value!;
  }
}
