/**
 * SPDY's header blocks. Each direction of a connection is one zlib stream with a preset dictionary, flushed
 * after every block. A flush ends at a byte boundary, so each block is raw deflate data whose dictionary is
 * the data before it. That keeps the codec synchronous (no frame overtakes a block), bounded, and free of
 * native handles to close.
 */
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { SpdyProtocolError } from './spdy-frame.ts';

/** Kubernetes allows 1000 headers of 1 MiB; actual blocks have three short ones. */
const headersMax = 64;
const blockBytesMax = 64 * 1024;
/** How far back a block may refer (zlib's window). */
const historyBytes = 32 * 1024;
/** Window of our own blocks: they are very similar, and a small window makes each several times cheaper. */
const windowBits = 12;
const memLevel = 5;

const dictionaryFlag = 0x20;
const flushMark = Buffer.from('0000ffff', 'hex');

/** The dictionary of SPDY/3, from its draft 3. */
export const dictionary: Buffer = Buffer.from(
  `
AAAAB29wdGlvbnMAAAAEaGVhZAAAAARwb3N0AAAAA3B1dAAAAAZkZWxldGUAAAAFdHJhY2UAAAAGYWNjZXB0AAAADmFjY2VwdC1jaGFyc2V0AAAAD2FjY2Vw
dC1lbmNvZGluZwAAAA9hY2NlcHQtbGFuZ3VhZ2UAAAANYWNjZXB0LXJhbmdlcwAAAANhZ2UAAAAFYWxsb3cAAAANYXV0aG9yaXphdGlvbgAAAA1jYWNoZS1j
b250cm9sAAAACmNvbm5lY3Rpb24AAAAMY29udGVudC1iYXNlAAAAEGNvbnRlbnQtZW5jb2RpbmcAAAAQY29udGVudC1sYW5ndWFnZQAAAA5jb250ZW50LWxl
bmd0aAAAABBjb250ZW50LWxvY2F0aW9uAAAAC2NvbnRlbnQtbWQ1AAAADWNvbnRlbnQtcmFuZ2UAAAAMY29udGVudC10eXBlAAAABGRhdGUAAAAEZXRhZwAA
AAZleHBlY3QAAAAHZXhwaXJlcwAAAARmcm9tAAAABGhvc3QAAAAIaWYtbWF0Y2gAAAARaWYtbW9kaWZpZWQtc2luY2UAAAANaWYtbm9uZS1tYXRjaAAAAAhp
Zi1yYW5nZQAAABNpZi11bm1vZGlmaWVkLXNpbmNlAAAADWxhc3QtbW9kaWZpZWQAAAAIbG9jYXRpb24AAAAMbWF4LWZvcndhcmRzAAAABnByYWdtYQAAABJw
cm94eS1hdXRoZW50aWNhdGUAAAATcHJveHktYXV0aG9yaXphdGlvbgAAAAVyYW5nZQAAAAdyZWZlcmVyAAAAC3JldHJ5LWFmdGVyAAAABnNlcnZlcgAAAAJ0
ZQAAAAd0cmFpbGVyAAAAEXRyYW5zZmVyLWVuY29kaW5nAAAAB3VwZ3JhZGUAAAAKdXNlci1hZ2VudAAAAAR2YXJ5AAAAA3ZpYQAAAAd3YXJuaW5nAAAAEHd3
dy1hdXRoZW50aWNhdGUAAAAGbWV0aG9kAAAAA2dldAAAAAZzdGF0dXMAAAAGMjAwIE9LAAAAB3ZlcnNpb24AAAAISFRUUC8xLjEAAAADdXJsAAAABnB1Ymxp
YwAAAApzZXQtY29va2llAAAACmtlZXAtYWxpdmUAAAAGb3JpZ2luMTAwMTAxMjAxMjAyMjA1MjA2MzAwMzAyMzAzMzA0MzA1MzA2MzA3NDAyNDA1NDA2NDA3
NDA4NDA5NDEwNDExNDEyNDEzNDE0NDE1NDE2NDE3NTAyNTA0NTA1MjAzIE5vbi1BdXRob3JpdGF0aXZlIEluZm9ybWF0aW9uMjA0IE5vIENvbnRlbnQzMDEg
TW92ZWQgUGVybWFuZW50bHk0MDAgQmFkIFJlcXVlc3Q0MDEgVW5hdXRob3JpemVkNDAzIEZvcmJpZGRlbjQwNCBOb3QgRm91bmQ1MDAgSW50ZXJuYWwgU2Vy
dmVyIEVycm9yNTAxIE5vdCBJbXBsZW1lbnRlZDUwMyBTZXJ2aWNlIFVuYXZhaWxhYmxlSmFuIEZlYiBNYXIgQXByIE1heSBKdW4gSnVsIEF1ZyBTZXB0IE9j
dCBOb3YgRGVjIDAwOjAwOjAwIE1vbiwgVHVlLCBXZWQsIFRodSwgRnJpLCBTYXQsIFN1biwgR01UY2h1bmtlZCx0ZXh0L2h0bWwsaW1hZ2UvcG5nLGltYWdl
L2pwZyxpbWFnZS9naWYsYXBwbGljYXRpb24veG1sLGFwcGxpY2F0aW9uL3hodG1sK3htbCx0ZXh0L3BsYWluLHRleHQvamF2YXNjcmlwdCxwdWJsaWNwcml2
YXRlbWF4LWFnZT1nemlwLGRlZmxhdGUsc2RjaGNoYXJzZXQ9dXRmLThjaGFyc2V0PWlzby04ODU5LTEsdXRmLSwqLGVucT0wLg==
`,
  'base64',
);
const dictionaryId = 0xe3c6a7c2;
/** The zlib header at the default level, with the dictionary's id. */
const zlibHead = Buffer.from('78bbe3c6a7c2', 'hex');

export type SpdyHeaders = Readonly<Record<string, string>>;

/** Encodes the blocks of one direction. Names are lower-cased. */
export class HeaderEncoder {
  #history: Buffer = dictionary;
  #first = true;

  encode(headers: SpdyHeaders): Buffer {
    const plain = encodeBlock(headers);
    const dictionary = this.#history;
    const block = deflateRawSync(plain, {
      dictionary,
      finishFlush: constants.Z_SYNC_FLUSH,
      windowBits,
      memLevel,
    });
    this.#history = append(dictionary, plain, 2 ** windowBits);
    if (!this.#first) return block;
    this.#first = false;
    return Buffer.concat([zlibHead, block]);
  }
}

/** Decodes the blocks of one direction. It must see every block in order, including those of refused streams. */
export class HeaderDecoder {
  #history: Buffer = Buffer.alloc(0);
  #first = true;

  /** Throws SpdyProtocolError. */
  decode(compressed: Buffer): SpdyHeaders {
    const block = this.#first ? this.#begin(compressed) : compressed;
    if (!block.subarray(-4).equals(flushMark)) throw new SpdyProtocolError('header block without a flush');
    const plain = inflate(block, this.#history);
    this.#history = append(this.#history, plain, historyBytes);
    return decodeBlock(plain);
  }

  /** Removes the zlib header from the first block. As in Go, a stream without the dictionary is accepted. */
  #begin(compressed: Buffer): Buffer {
    this.#first = false;
    if (compressed.length < 2 || (compressed[0]! & 0x0f) !== 8 || compressed.readUInt16BE(0) % 31 !== 0) {
      throw new SpdyProtocolError('header block is not zlib');
    }
    if ((compressed[1]! & dictionaryFlag) === 0) return compressed.subarray(2);
    if (compressed.length < 6 || compressed.readUInt32BE(2) !== dictionaryId) {
      throw new SpdyProtocolError('header block of another dictionary');
    }
    this.#history = dictionary;
    return compressed.subarray(6);
  }
}

function inflate(block: Buffer, history: Buffer): Buffer {
  const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: blockBytesMax };
  try {
    return inflateRawSync(block, history.length === 0 ? options : { ...options, dictionary: history });
  } catch {
    throw new SpdyProtocolError('header block does not inflate');
  }
}

/** The last `bytesMax` bytes of both. */
function append(history: Buffer, plain: Buffer, bytesMax: number): Buffer {
  const kept = Math.max(0, Math.min(history.length, bytesMax - plain.length));
  return Buffer.concat([history.subarray(history.length - kept), plain.subarray(-bytesMax)]);
}

function encodeBlock(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers);
  const parts: Buffer[] = [uint32(entries.length)];
  for (const [name, value] of entries) {
    for (const text of [name.toLowerCase(), value]) {
      const bytes = Buffer.from(text);
      parts.push(uint32(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function decodeBlock(plain: Buffer): SpdyHeaders {
  let offset = 0;
  function number(): number {
    if (plain.length - offset < 4) throw new SpdyProtocolError('header block is cut');
    offset += 4;
    return plain.readUInt32BE(offset - 4);
  }
  function text(): string {
    const length = number();
    if (plain.length - offset < length) throw new SpdyProtocolError('header block is cut');
    offset += length;
    return plain.toString('utf8', offset - length, offset);
  }
  const count = number();
  if (count > headersMax) throw new SpdyProtocolError(`${count} headers`);
  // No prototype, so that no header name is special.
  const headers: Record<string, string> = Object.create(null);
  for (let i = 0; i < count; i++) {
    const name = text().toLowerCase();
    if (name in headers) throw new SpdyProtocolError('header named twice');
    headers[name] = text();
  }
  if (offset !== plain.length) throw new SpdyProtocolError('header block is too long');
  return headers;
}
