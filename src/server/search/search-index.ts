/**
 * The texts that objects are searched by. It is filled by the first search and by those after it: a text belongs to one
 * version of an object, so writes cost nothing, and what has changed is read when it is searched for next. An index that
 * is not used for a while is dropped.
 */
import type { Entry } from '../../registry/view/entry.ts';
import { searchedParts } from './searched-parts.ts';

const idleMs = 5 * 60_000;

export class SearchIndex {
  #texts = new WeakMap<Entry, string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Call with every search. */
  use(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#texts = new WeakMap();
    }, idleMs).unref();
  }

  isKnown(entry: Entry): boolean {
    return this.#texts.has(entry);
  }

  /** All parts in lower case, a line each; the name is the first line. */
  textOf(entry: Entry): string {
    let text = this.#texts.get(entry);
    if (text === undefined) {
      text = searchedParts(entry)
        .map((part) => part.text)
        .join('\n')
        .toLowerCase();
      this.#texts.set(entry, text);
    }
    return text;
  }
}
