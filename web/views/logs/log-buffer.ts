/**
 * The lines of several containers in the order of time, bounded in number and size: the oldest are dropped. Lines arrive
 * in batches, nearly in order, so a batch is merged with the end of what is there.
 */
import { signal } from '@preact/signals';
import { compareLines, type LogLine } from './log-line.ts';

const linesMax = 100_000;
/** Characters that are kept in all lines together. */
const charactersMax = 64 * 1024 * 1024;
/** Lines are dropped in batches of this size, because moving 100,000 lines for each new one would cost too much. */
const slack = 5_000;

export class LogBuffer {
  /** Counts changes, at most one per frame. */
  readonly version = signal(0);
  /** Lines that were dropped at the beginning since the start. */
  dropped = 0;
  #lines: LogLine[] = [];
  #shown: LogLine[] | undefined;
  #waiting: LogLine[] = [];
  #characters = 0;
  #scheduled = false;
  #test: ((line: LogLine) => boolean) | undefined;

  /** Those that pass the test. */
  get shown(): readonly LogLine[] {
    return this.#shown ?? this.#lines;
  }

  get size(): number {
    return this.#lines.length;
  }

  add(lines: readonly LogLine[]): void {
    for (const line of lines) this.#waiting.push(line);
    if (this.#waiting.length > linesMax + slack) this.#waiting.splice(0, this.#waiting.length - linesMax);
    this.#schedule();
  }

  clear(): void {
    this.#lines = [];
    this.#waiting = [];
    this.#characters = 0;
    this.dropped = 0;
    if (this.#shown) this.#shown = [];
    this.version.value++;
  }

  filter(test: ((line: LogLine) => boolean) | undefined): void {
    this.#test = test;
    this.#shown = test && this.#lines.filter(test);
    this.version.value++;
  }

  /** A page in the background has no frames. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const flush = () => this.#flush();
    if (document.visibilityState === 'visible') requestAnimationFrame(flush);
    else setTimeout(flush, 1_000);
  }

  #flush(): void {
    this.#scheduled = false;
    const batch = this.#waiting.sort(compareLines);
    this.#waiting = [];
    const first = batch[0];
    if (!first) return;
    const later = takeFrom(this.#lines, first);
    const merged = later.length ? [...later, ...batch].sort(compareLines) : batch;
    for (const line of merged) this.#lines.push(line);
    for (const line of batch) this.#characters += line.text.length;
    if (this.#shown && this.#test) {
      takeFrom(this.#shown, first);
      for (const line of merged) if (this.#test(line)) this.#shown.push(line);
    }
    this.#trim();
    this.version.value++;
  }

  #trim(): void {
    let count = this.#lines.length > linesMax + slack ? this.#lines.length - linesMax : 0;
    let characters = this.#characters;
    for (let i = 0; i < count; i++) characters -= this.#lines[i]!.text.length;
    while (characters > charactersMax && count < this.#lines.length)
      characters -= this.#lines[count++]!.text.length;
    if (count === 0) return;
    this.#characters = characters;
    this.#lines = this.#lines.slice(count);
    const oldest = this.#lines[0];
    const before = this.shown.length + (this.#shown ? 0 : count);
    if (this.#shown)
      this.#shown = this.#shown.filter((line) => oldest !== undefined && compareLines(line, oldest) >= 0);
    this.dropped += before - this.shown.length;
  }
}

/** Removes the lines that come after one, and returns them. */
function takeFrom(lines: LogLine[], first: LogLine): LogLine[] {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareLines(lines[middle]!, first) <= 0) low = middle + 1;
    else high = middle;
  }
  return lines.splice(low);
}
