/** Reads terminal sizes: JSON objects one after the other, cut into pieces anywhere. */
import type { TerminalSize } from './session.ts';

/** What is looked at of one piece and kept of an unfinished object; in longer pieces only the end counts. */
const textBytesMax = 4096;
const sizeMax = 65_535;

export class ResizeReader {
  #rest = '';

  /** The sizes that are complete with this piece. What is not a size is skipped. */
  read(piece: Buffer): TerminalSize[] {
    const sizes: TerminalSize[] = [];
    // client-node writes no newline between objects, so it is the brace that ends one.
    let text = this.#rest + piece.subarray(-textBytesMax).toString('latin1');
    for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}')) {
      const size = parseSize(text.slice(text.lastIndexOf('{', end), end + 1));
      if (size !== undefined) sizes.push(size);
      text = text.slice(end + 1);
    }
    this.#rest = text.length > textBytesMax ? '' : text;
    return sizes;
  }
}

function parseSize(text: string): TerminalSize | undefined {
  try {
    const fields = new Map(
      Object.entries(JSON.parse(text)).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const [width, height] = [fields.get('width'), fields.get('height')];
    return isLength(width) && isLength(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

const isLength = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) <= sizeMax;
