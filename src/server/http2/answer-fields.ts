/**
 * Encodes the headers of answers (HPACK, RFC 7541). Headers that answers repeat are added to the table of their connection
 * once, and take a byte after that; the others are written as they are. Nothing is ever taken out of the table: when it is
 * full, no more is added. Secrets do not get into it, because it is the server's own list of names that may.
 */
import { isConnectionField, isFieldName } from '../../http2/field-rules.ts';
import { FIRST_ADDED, Field, staticIndex, staticPair, TABLE_BYTES_MAX } from '../../http2/field-table.ts';

/** Names of headers with few values. */
const repeated = new Set([
  'cache-control',
  'content-type',
  'content-encoding',
  'vary',
  'strict-transport-security',
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-expose-headers',
  'x-content-type-options',
  'x-kubernetes-pf-flowschema-uid',
  'x-kubernetes-pf-prioritylevel-uid',
]);
/** Names whose code is remembered. Servers behind this one may send others. */
const namesMax = 500;
/** Beyond it, lengths are written in more bytes. */
const prefixMax = 127;
/** Bytes that a header takes at most beside its name and its value: lengths, and what kind it is. */
const overheadBytes = 12;

/** How a name is written. */
interface NameCode {
  readonly lower: string;
  /** Headers about connections are left out. */
  readonly isDropped: boolean;
  /** Whether values are added to the table. */
  readonly isRepeated: boolean;
  /** The name in a header that is not added, and in one that is. */
  readonly literal: Buffer;
  readonly adding: Buffer;
}

const names = new Map<string, NameCode>();

function codeOf(name: string): NameCode {
  const known = names.get(name);
  if (known) return known;
  const lower = name.toLowerCase();
  if (!isFieldName(lower)) throw new TypeError(`${JSON.stringify(name)} is not the name of a header`);
  const index = staticIndex(lower);
  const text =
    index === 0 ? [...numberBytes(lower.length, prefixMax, 0), ...Buffer.from(lower, 'latin1')] : [];
  const code = {
    lower,
    isDropped: isConnectionField(lower),
    isRepeated: repeated.has(lower),
    literal: Buffer.from([...numberBytes(index, 0x0f, 0), ...text]),
    adding: Buffer.from([...numberBytes(index, 0x3f, 0x40), ...text]),
  };
  if (names.size < namesMax) names.set(name, code);
  return code;
}

/** A number, behind the bits that say what it is. @param full the bits of the first byte that belong to it */
function numberBytes(value: number, full: number, before: number): number[] {
  if (value < full) return [before | value];
  const bytes = [before | full];
  let rest = value - full;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
}

const dateCode = (): NameCode => codeOf('date');

/** The encoder of one connection. */
export class AnswerFields {
  #tableMax = TABLE_BYTES_MAX;
  #tableBytes = 0;
  /** Places of the headers in the table, the oldest 0, by name and value. */
  #places = new Map<NameCode, Map<string, number>>();
  #count = 0;
  /** Whether the next block has to say that the table begins anew. */
  #isResized = false;

  /** The client's table may have so many bytes. */
  resize(bytesMax: number): void {
    const tableMax = Math.min(bytesMax, TABLE_BYTES_MAX);
    if (tableMax === this.#tableMax) return;
    this.#tableMax = tableMax;
    this.#beginAnew();
  }

  #beginAnew(): void {
    this.#isResized = true;
    this.#places = new Map();
    this.#count = 0;
    this.#tableBytes = 0;
  }

  /** How many bytes headers may take. @param lists names and values in turn */
  most(lists: readonly (readonly string[])[]): number {
    let most = 64;
    for (const list of lists) {
      for (const text of list) most += text.length;
      most += (list.length / 2) * overheadBytes;
    }
    return most;
  }

  /** Writes a block at a place; returns the place behind it. Throws when a header is not allowed. */
  write(
    bytes: Buffer,
    begin: number,
    status: number,
    lists: readonly (readonly string[])[],
    date: string,
  ): number {
    try {
      return this.#write(bytes, begin, status, lists, date);
    } catch (error) {
      // The client will not see the block, and so not what it added to the table.
      this.#beginAnew();
      throw error;
    }
  }

  #write(
    bytes: Buffer,
    begin: number,
    status: number,
    lists: readonly (readonly string[])[],
    date: string,
  ): number {
    let at = this.#isResized ? this.#writeSizes(bytes, begin) : begin;
    const known = indexOfStatus(status);
    if (known > 0) bytes[at++] = 0x80 | known;
    else {
      bytes[at++] = 0x08;
      at = writeText(bytes, at, ':status', String(status));
    }
    let hasDate = false;
    for (const list of lists)
      for (let i = 0; i < list.length; i += 2) {
        const code = codeOf(list[i]!);
        if (code.isDropped) continue;
        hasDate ||= code.lower === 'date';
        at = this.#writeField(bytes, at, code, list[i + 1]!);
      }
    return hasDate ? at : writeLiteral(bytes, at, dateCode(), date);
  }

  #writeField(bytes: Buffer, at: number, code: NameCode, value: string): number {
    if (!code.isRepeated) return writeLiteral(bytes, at, code, value);
    let places = this.#places.get(code);
    const place = places?.get(value);
    if (place !== undefined) return writeNumber(bytes, at, FIRST_ADDED + this.#count - 1 - place, 0x7f, 0x80);
    const size = new Field(code.lower, value).bytes;
    if (this.#tableBytes + size > this.#tableMax) return writeLiteral(bytes, at, code, value);
    const end = writeText(bytes, at + code.adding.copy(bytes, at), code.lower, value);
    if (!places) this.#places.set(code, (places = new Map()));
    places.set(value, this.#count++);
    this.#tableBytes += size;
    return end;
  }

  /** The table is emptied, and then as large as the client wants. */
  #writeSizes(bytes: Buffer, begin: number): number {
    this.#isResized = false;
    const at = writeNumber(bytes, begin, 0, 0x1f, 0x20);
    return this.#tableMax === 0 ? at : writeNumber(bytes, at, this.#tableMax, 0x1f, 0x20);
  }
}

const statusPairs = new Map<number, number>();

/** The index of a status in the static table; 0 when it is not there. */
function indexOfStatus(status: number): number {
  let index = statusPairs.get(status);
  if (index === undefined) statusPairs.set(status, (index = staticPair(':status', String(status))));
  return index;
}

function writeLiteral(bytes: Buffer, at: number, code: NameCode, value: string): number {
  const { literal } = code;
  let end = at;
  for (let i = 0; i < literal.length; i++) bytes[end++] = literal[i]!;
  return writeText(bytes, end, code.lower, value);
}

function writeNumber(bytes: Buffer, begin: number, value: number, full: number, before: number): number {
  let at = begin;
  if (value < full) bytes[at++] = before | value;
  else for (const byte of numberBytes(value, full, before)) bytes[at++] = byte;
  return at;
}

/** Rejects control characters: they would make the answer malformed. */
function writeText(bytes: Buffer, begin: number, name: string, value: string): number {
  const { length } = value;
  let at = writeNumber(bytes, begin, length, prefixMax, 0);
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i);
    if ((code < 0x20 && code !== 0x09) || code === 0x7f || code > 0xff)
      throw new TypeError(`the header ${name} holds a control character`);
    bytes[at++] = code;
  }
  return at;
}
