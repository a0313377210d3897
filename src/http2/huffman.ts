/**
 * Huffman-coded text in HTTP/2 headers (RFC 7541, appendix B). The code is canonical: codes of one length are
 * consecutive, in the order of their symbols, so the lengths alone define it.
 */

/** Bits of each symbol's code: the 256 bytes, and the end mark. */
const bitLengths = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
const endMark = 256;
const bitsMax = 30;

/**
 * The code as a machine that takes four bits at a time: a state is the part of a code that was read. A code has at least
 * five bits, so four bits complete at most one. Made when the first coded text comes.
 */
class Machine {
  /** By state and four bits: the next state, and 1 more than the symbol that is complete, or 0, behind `symbolBits`. */
  readonly steps: Int32Array;
  /** States in which a text may end: at its beginning, or in padding of at most seven ones. */
  readonly ends: Uint8Array;

  constructor() {
    const children = tree();
    const states = children.length / 2;
    this.steps = new Int32Array(states * 16);
    this.ends = new Uint8Array(states);
    for (let state = 0; state < states; state++)
      for (let bits = 0; bits < 16; bits++) this.steps[state * 16 + bits] = step(children, state, bits);
    for (let state = 0, ones = 0; ones <= paddingBitsMax; ones++) {
      this.ends[state] = 1;
      state = children[state * 2 + 1]!;
    }
  }
}

const paddingBitsMax = 7;
const symbolBits = 10;
const failed = -1;

/** By state: what follows on a zero and on a one, another state or, as a negative number, -1 less a symbol. */
function tree(): number[] {
  const children = [0, 0];
  let code = 0;
  for (let bits = 1; bits <= bitsMax; bits++) {
    code *= 2;
    for (const [symbol, length] of bitLengths.entries())
      if (length === bits) grow(children, code++, bits, symbol);
  }
  return children;
}

function grow(children: number[], code: number, bits: number, symbol: number): void {
  let state = 0;
  for (let bit = bits - 1; bit > 0; bit--) {
    const place = state * 2 + ((code >>> bit) & 1);
    if (children[place] === 0) {
      children[place] = children.length / 2;
      children.push(0, 0);
    }
    state = children[place]!;
  }
  children[state * 2 + (code & 1)] = -1 - symbol;
}

function step(children: readonly number[], begin: number, bits: number): number {
  let state = begin;
  let symbol = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const next = children[state * 2 + ((bits >> bit) & 1)]!;
    if (next === -1 - endMark) return failed;
    if (next < 0) symbol = -next;
    state = Math.max(next, 0);
  }
  return (state << symbolBits) | symbol;
}

let machine: Machine | undefined;
/** Where short texts are decoded. */
const sheet = Buffer.allocUnsafeSlow(8 * 1024);
/** A byte of code has at most this part of a symbol. */
const symbolsPerByte = 8 / 5;

/** Decodes a text; throws when the coding is invalid. */
export function decodeHuffman(coded: Buffer, begin = 0, end = coded.length): string {
  machine ??= new Machine();
  const { steps, ends } = machine;
  const most = Math.ceil((end - begin) * symbolsPerByte);
  const text = most <= sheet.length ? sheet : Buffer.allocUnsafe(most);
  let length = 0;
  let state = 0;
  for (let at = begin; at < end; at++) {
    const byte = coded[at]!;
    for (let bits = 4; bits >= 0; bits -= 4) {
      const next = steps[state * 16 + ((byte >> bits) & 15)]!;
      if (next === failed) throw new Error('a header contains the end mark of its code');
      state = next >> symbolBits;
      const symbol = next & (2 ** symbolBits - 1);
      if (symbol > 0) text[length++] = symbol - 1;
    }
  }
  // The last byte is padded with ones.
  if (ends[state] === 0) throw new Error('a header ends in the middle of a code');
  return text.toString('latin1', 0, length);
}
