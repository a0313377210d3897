/**
 * How wide the columns of a table are. Browsers work it out anew from every cell in sight whenever rows come and go, which
 * takes longer than a frame and moves the columns under the eyes of who scrolls. Here a column is as wide as its longest
 * text so far, and only grows; rows are then laid out each for itself.
 */
import type { Row } from '../../core/live-table.ts';

/** A text of a column that is shown. */
type Reader = (row: Row) => string;
/** How wide a text is, in pixels. */
type WidthOf = (text: string) => number;

/** No text is shown wider than this. */
const widestPx = 420;
/** Longer texts are cut off where the columns do not fit beside each other. */
const shrunkPx = 200;
/** Namespaces are cut off further where that is not enough. */
const leastNamespacePx = 90;
/** Rows that are looked at before any is drawn, evenly spread. */
const samplesMax = 500;
const narrowGlyph = /[ -~]/;
const fontPx = 14;
/** Beside the head of a column by which rows are ordered; heads are smaller than what they are measured in. */
const arrowPx = 4;
/** Texts of this length fit, whatever their letters are. */
const shortLength = shrunkPx / fontPx;

export class ColumnWidths {
  readonly #widths: number[];
  #seen = new WeakSet<Row>();

  constructor(
    private readers: readonly Reader[],
    heads: readonly string[],
    private readonly widthOf: WidthOf,
  ) {
    this.#widths = heads.map((head) => widthOf(head) + arrowPx);
  }

  /** The same columns with other values. */
  readBy(readers: readonly Reader[]): void {
    this.readers = readers;
    this.#seen = new WeakSet();
  }

  /** Widths of the texts alone, without what is around them. */
  get widths(): readonly number[] {
    return this.#widths;
  }

  /** Looks at some of many rows. */
  sample(rows: readonly Row[]): boolean {
    const step = Math.max(1, Math.floor(rows.length / samplesMax));
    return this.see(rows.filter((_, at) => at % step === 0));
  }

  /** Whether a column became wider by these rows. */
  see(rows: readonly Row[]): boolean {
    let isWider = false;
    for (const row of rows) {
      if (this.#seen.has(row)) continue;
      this.#seen.add(row);
      for (const [at, read] of this.readers.entries()) {
        const width = Math.min(widestPx, this.widthOf(read(row)));
        if (width <= this.#widths[at]!) continue;
        this.#widths[at] = width;
        isWider = true;
      }
    }
    return isWider;
  }
}

/** The least widths of columns that share `room`: where they do not fit, the first gives way if it has namespaces. */
export function leastWidths(widths: readonly number[], room: number, hasNamespace: boolean): number[] {
  const least = widths.map((width) => Math.min(width, shrunkPx));
  const over = least.reduce((sum, width) => sum + width, 0) - room;
  const [first = 0] = least;
  if (hasNamespace && over > 0) least[0] = Math.max(Math.min(first, leastNamespacePx), first - over);
  return least;
}

/** Whether a text may be too long for its column. */
export const isLong = (text: string, widthOf: WidthOf): boolean =>
  text.length > shortLength && widthOf(text) > shrunkPx;

/** Widths by a table of glyphs, because a browser takes long to measure thousands of texts. */
export function measuredBy(measure: WidthOf): WidthOf {
  const glyphs = new Map<string, number>();
  return (text) => {
    let width = 0;
    for (const glyph of text) {
      let each = glyphs.get(glyph);
      if (each === undefined) {
        each = narrowGlyph.test(glyph) ? measure(glyph) : Math.max(fontPx, measure(glyph));
        glyphs.set(glyph, each);
      }
      width += each;
    }
    return Math.ceil(width);
  };
}
