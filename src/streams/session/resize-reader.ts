/** Parses terminal sizes: consecutive JSON objects, split at any byte. */
import type { TerminalSize } from './session.ts';

/** Bytes examined per piece, and kept of an incomplete object; of longer pieces only the end counts. */
const textBytesMax = 4096;
const sizeMax = 65_535;

export class ResizeReader {
  #rest = '';

  /** The sizes completed by this piece. Anything else is skipped. */
  read(piece: Buffer): TerminalSize[] {
    const sizes: TerminalSize[] = [];
    // client-node writes no newline between objects, so the closing brace ends one.
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
