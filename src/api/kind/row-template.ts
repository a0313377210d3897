/**
 * Row templates: the JSON text of a row of a table, up to its object, with gaps for elapsed times. It is worked out from
 * an object once, and filled in whenever a table is asked for.
 */

import { jsonText } from '../text/json-text.ts';
import { stringText } from '../text/string-text.ts';
import { type Cell, Elapsed } from '../values/elapsed.ts';
import { durationText } from '../values/time.ts';
import type { TableRowCondition } from './kind.ts';

/** Bytes that a gap takes at most: durations are short. */
const gapBytesMax = 16;

export class RowTemplate {
  readonly #text: Buffer;
  /** Byte positions at which durations are inserted, each followed by the time since which they count. */
  readonly #gaps: readonly number[];

  constructor(cells: readonly Cell[], conditions: readonly TableRowCondition[] | undefined) {
    const gaps: number[] = [];
    let text = '{"cells":[';
    for (const [i, cell] of cells.entries()) {
      if (i > 0) text += ',';
      if (cell instanceof Elapsed) {
        text += stringText(cell.before).slice(0, -1);
        gaps.push(Buffer.byteLength(text), cell.sinceMs);
        text += stringText(cell.after).slice(1);
      } else if (typeof cell === 'string') text += stringText(cell);
      else text += cell === undefined ? 'null' : jsonText(cell);
    }
    text += ']';
    if (conditions) text += `,"conditions":${JSON.stringify(conditions)}`;
    this.#text = Buffer.from(`${text},"object":`);
    this.#gaps = gaps;
  }

  /** Bytes that it takes at most. */
  get bytesMax(): number {
    return this.#text.length + (this.#gaps.length / 2) * gapBytesMax;
  }

  /** Writes the text as it is at a time; returns where it ends. */
  write(target: Buffer, start: number, nowMs: number): number {
    const text = this.#text;
    const gaps = this.#gaps;
    let at = start;
    let from = 0;
    for (let i = 0; i < gaps.length; i += 2) {
      const to = gaps[i]!;
      at += text.copy(target, at, from, to);
      const duration = durationText(nowMs - gaps[i + 1]!);
      for (let c = 0; c < duration.length; c++) target[at++] = duration.charCodeAt(c);
      from = to;
    }
    return at + text.copy(target, at, from);
  }
}
