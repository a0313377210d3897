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

/** For each length: its symbols in order, and the code of the first. */
const codes = Array.from({ length: bitsMax + 1 }, (_, bits) => ({
  first: 0,
  symbols: bitLengths.flatMap((length, symbol) => (length === bits ? symbol : [])),
}));
for (let bits = 1; bits <= bitsMax; bits++) {
  const { first, symbols } = codes[bits - 1]!;
  codes[bits]!.first = (first + symbols.length) * 2;
}

/** Decodes a text; throws when the coding is invalid. */
export function decodeHuffman(coded: Buffer): Buffer {
  const decoded: number[] = [];
  let code = 0;
  let bits = 0;
  for (const byte of coded)
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      const { first, symbols } = codes[++bits]!;
      const symbol = symbols[code - first];
      if (symbol !== undefined) {
        if (symbol === endMark) throw new Error('a header contains the end mark of its code');
        decoded.push(symbol);
        code = 0;
        bits = 0;
      } else if (bits === bitsMax) throw new Error('a header contains an unknown code');
    }
  // The last byte is padded with ones.
  if (bits > 7 || code !== 2 ** bits - 1) throw new Error('a header ends in the middle of a code');
  return Buffer.from(decoded);
}
