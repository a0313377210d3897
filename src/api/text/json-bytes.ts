/**
 * Steps over values in the bytes of JSON text, without parsing them. The text is one that was written here, without spaces;
 * of any other, the end may not be found.
 */

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Position behind the quote that closes the string that is opened at `start`; -1 when it does not end. */
export function stringEnd(text: Buffer, start: number): number {
  let at = start + 1;
  for (let byte = text[at]!; byte !== quote; byte = text[++at]!)
    if (byte === backslash) at++;
    else if (!(byte >= space)) return -1;
  return at + 1;
}

/** Position behind the value that begins at `start`; -1 when it does not end. */
export function valueEnd(text: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; ; at++) {
    const byte = text[at]!;
    if (byte === quote) {
      at = stringEnd(text, at) - 1;
      if (at < 0) return -1;
    } else if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) depth--;
    else if (byte === comma && depth === 0) return at > start ? at : -1;
    else if (!(byte > space)) return -1;
    if (depth < 0) return at > start ? at : -1;
  }
}
