/** Parses terminal sizes: consecutive JSON objects, split at any byte. */
import type { TerminalSize } from './session.ts';

/** Bytes examined per piece; of longer ones only the end counts. */
const pieceBytesMax = 4096;
/** Characters kept of an incomplete object. */
const restCharsMax = 256;
const sizeMax = 65_535;

/**
 * A size as all clients write it, with or without a newline behind it. Without JSON.parse, whose errors take so long that
 * 64 KB of closing braces held the event loop for most of a second.
 */
const written = /\{\s*"(width|height)"\s*:\s*(\d{1,5})\s*,\s*"(width|height)"\s*:\s*(\d{1,5})\s*\}/gi;

export class ResizeReader {
  #rest = '';

  /** The sizes completed by this piece. Anything else is skipped. */
  read(piece: Buffer): TerminalSize[] {
    const text = this.#rest + piece.subarray(-pieceBytesMax).toString('latin1');
    const sizes: TerminalSize[] = [];
    for (const [, name = '', value, other = '', otherValue] of text.matchAll(written)) {
      const [first, second] = [Number(value), Number(otherValue)];
      if (name.toLowerCase() === other.toLowerCase() || !isLength(first) || !isLength(second)) continue;
      sizes.push(
        name.toLowerCase() === 'width' ? { width: first, height: second } : { width: second, height: first },
      );
    }
    const rest = text.slice(text.lastIndexOf('{'));
    this.#rest = rest.includes('}') || rest.length > restCharsMax ? '' : rest;
    return sizes;
  }
}

const isLength = (value: number): boolean => value > 0 && value <= sizeMax;
