/**
 * Messages from text: writes the protobuf message of an object from its JSON text, byte by byte and without parsing it. A list
 * of many objects needs the messages of all, because their lengths are sent before the first of them: that of 100,000 pods of
 * 2.2 KB went from 10 to 6.5 billion cycles.
 *
 * It reads the form that objects are stored in (`model/encode.ts`). Texts of another form, and the few types of fields that
 * only schemas have, are left to `protobuf-message.ts`, which gives the same bytes.
 */
import { copyBytes } from '../../shared-bytes.ts';
import type { Model } from '../model/model.ts';
import { stringEnd, valueEnd } from '../text/json-bytes.ts';
import { type FieldPlan, type MessagePlan, planOf, tagOf, type ValuePlan } from './message-plan.ts';
import { envelopeEnd, envelopeHead, type ProtobufDocument, type TypeMeta } from './protobuf-envelope.ts';
import { messageMemory } from './protobuf-message.ts';

/** Longer texts are left to the other encoder, so that little memory is kept here. */
const textBytesMax = 128 * 1024;
/** Bytes of a message for each of its text, at most: a byte that is not UTF-8 becomes three. */
const growth = 3;
/** Fields that have been written of messages that are not complete yet. */
const partsMax = 8192;
/** Digits that a number holds exactly. */
const digitsMax = 15;
const fractionDigits = 9;
/** Longer parts are copied by a call. */
const loopBytesMax = 64;
const firstYear = 1970;

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const [letterT, letterZ, smallN, smallT, smallF] = [0x54, 0x5a, 0x6e, 0x74, 0x66];
const asciiEnd = 0x80;

const keyTag = tagOf(1);

/** The text has a form that is not read here. */
class OtherForm extends Error {}

class TextEncoder {
  #text: Buffer = Buffer.alloc(0);
  #at = 0;
  #out = Buffer.alloc(0);
  /** Where the written part ends. */
  #to = 0;
  /** Messages before their fields are brought into order. */
  #unordered = Buffer.alloc(0);
  /** Rank, start and end of each field that was written of the open messages. */
  readonly #parts = new Int32Array(partsMax * 3);
  #partsEnd = 0;

  /** The message, until the next call; undefined when the text has another form. */
  write(model: Model, text: Buffer, length: number): Buffer | undefined {
    if (length > textBytesMax) return undefined;
    if (this.#out.length < length * growth) {
      this.#out = Buffer.allocUnsafeSlow(length * growth * 2);
      this.#unordered = Buffer.allocUnsafeSlow(this.#out.length);
    }
    this.#text = text;
    this.#at = 0;
    this.#to = 0;
    this.#partsEnd = 0;
    try {
      this.#message(planOf(model));
      return this.#at === length ? this.#out.subarray(0, this.#to) : undefined;
    } catch (error) {
      if (error instanceof OtherForm || error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  // Messages

  #message(plan: MessagePlan): void {
    const from = this.#to;
    const bottom = this.#partsEnd;
    let before: MessagePlan | FieldPlan = plan;
    let last = -1;
    let isOrdered = true;
    if (!this.#begins(openBrace, closeBrace)) return;
    do {
      const field = this.#field(plan, before);
      if (!field) {
        this.#skip();
        continue;
      }
      before = field;
      const start = this.#to;
      this.#fieldValue(field);
      if (this.#to === start) continue;
      if (field.rank <= last) isOrdered = false;
      last = field.rank;
      this.#note(last, start);
    } while (this.#goesOn(closeBrace));
    if (!isOrdered || plan.hasEmbedded) this.#arrange(plan, from, bottom);
    this.#partsEnd = bottom;
  }

  #note(rank: number, start: number): void {
    const end = this.#partsEnd;
    if (end === this.#parts.length) throw new OtherForm();
    this.#parts[end] = rank;
    this.#parts[end + 1] = start;
    this.#parts[end + 2] = this.#to;
    this.#partsEnd = end + 3;
  }

  /** Reads the name of a field and the colon; undefined when the message does not have it. */
  #field(plan: MessagePlan, before: MessagePlan | FieldPlan): FieldPlan | undefined {
    const text = this.#text;
    const start = this.#at;
    const { next } = before;
    if (next && this.#is(next.mark)) return next;
    let at = start + 1;
    while (text[at]! > space && text[at] !== quote && text[at] !== backslash) at++;
    if (text[start] !== quote || text[at] !== quote || text[at + 1] !== colon) throw new OtherForm();
    this.#at = at + 2;
    const field = plan.field(text.toString('latin1', start + 1, at));
    if (field) before.next = field;
    return field;
  }

  /** Steps over a mark, if it is what comes next. */
  #is(mark: Buffer): boolean {
    const text = this.#text;
    const start = this.#at;
    const { length } = mark;
    for (let i = 0; i < length; i++) if (mark[i] !== text[start + i]) return false;
    this.#at = start + length;
    return true;
  }

  #fieldValue(field: FieldPlan): void {
    if (this.#text[this.#at] === smallN) this.#at += 'null'.length;
    else if (field.shape === 'list') this.#list(field.value, field.tag);
    else if (field.shape === 'map') this.#map(field);
    else {
      const start = this.#to;
      this.#varint(field.tag);
      if (!this.#value(field.value) && !field.keepsZero) this.#to = start;
    }
  }

  #list(item: ValuePlan, tag: number): void {
    if (!this.#begins(openBracket, closeBracket)) return;
    do {
      this.#varint(tag);
      this.#value(item);
    } while (this.#goesOn(closeBracket));
  }

  /** Each entry is a message {1 key, 2 value}; they are sorted by their keys. */
  #map({ tag, value }: FieldPlan): void {
    let before = 0;
    if (!this.#begins(openBrace, closeBrace)) return;
    do {
      this.#varint(tag);
      const open = this.#open();
      const key = this.#at;
      this.#varint(keyTag);
      this.#string();
      if (before > 0 && !this.#isAscending(before, key)) throw new OtherForm();
      before = key;
      if (this.#text[this.#at++] !== colon) throw new OtherForm();
      this.#varint(tagOf(2, value.wire));
      this.#value(value);
      this.#close(open);
    } while (this.#goesOn(closeBrace));
  }

  /** Compares two keys, of which the first ends before the second begins. */
  #isAscending(first: number, second: number): boolean {
    const text = this.#text;
    let offset = 1;
    while (text[first + offset] === text[second + offset]) {
      if (text[first + offset] === quote) return false;
      offset++;
    }
    // A key that is the beginning of the other comes before it.
    const [a, b] = [text[first + offset]!, text[second + offset]!];
    return b !== quote && (a === quote || a < b);
  }

  /** Steps over what opens a list or an object; false when it is empty, which is stepped over. */
  #begins(open: number, close: number): boolean {
    const text = this.#text;
    if (text[this.#at++] !== open) throw new OtherForm();
    if (text[this.#at] !== close) return true;
    this.#at++;
    return false;
  }

  #goesOn(close: number): boolean {
    const byte = this.#text[this.#at++];
    if (byte !== comma && byte !== close) throw new OtherForm();
    return byte === comma;
  }

  /** Brings the fields of a message into the order of their numbers, those that are embedded into their messages. */
  #arrange(plan: MessagePlan, from: number, bottom: number): void {
    const parts = this.#parts;
    const top = this.#partsEnd;
    for (let end = bottom + 3; end < top; end += 3) {
      const [rank, start, stop] = [parts[end]!, parts[end + 1]!, parts[end + 2]!];
      let at = end;
      for (; at > bottom && parts[at - 3]! > rank; at -= 3) {
        parts[at] = parts[at - 3]!;
        parts[at + 1] = parts[at - 2]!;
        parts[at + 2] = parts[at - 1]!;
      }
      parts[at] = rank;
      parts[at + 1] = start;
      parts[at + 2] = stop;
    }
    this.#out.copy(this.#unordered, from, from, this.#to);
    this.#to = from;
    this.#put(plan, bottom, top, 0);
  }

  #put(plan: MessagePlan, first: number, end: number, level: number): void {
    for (let part = first; part < end; ) {
      const path = plan.paths[this.#parts[part]!]!;
      if (path.length === level + 1) {
        this.#bytes(this.#unordered, this.#parts[part + 1]!, this.#parts[part + 2]!);
        part += 3;
        continue;
      }
      const begin = part;
      while (part < end && plan.paths[this.#parts[part]!]![level] === path[level]) part += 3;
      this.#varint(tagOf(path[level]!));
      const open = this.#open();
      this.#put(plan, begin, part, level + 1);
      this.#close(open);
    }
  }

  // Values

  /** Writes the next value; false when it is zero. */
  #value(plan: ValuePlan): boolean {
    switch (plan.type) {
      case 'string':
        return this.#string();
      case 'boolean':
        return this.#boolean();
      case 'integer':
        return this.#integer();
      case 'bytes':
        return this.#base64();
      case 'raw':
        return this.#raw();
    }
    const { lead } = plan;
    const open = this.#open(lead);
    const isSet = this.#messageValue(plan);
    plan.lead = this.#close(open, lead);
    return isSet;
  }

  #messageValue(plan: ValuePlan): boolean {
    switch (plan.type) {
      case 'model':
        this.#message(plan.message);
        return true;
      case 'time':
      case 'microtime':
        return this.#time();
      case 'quantity':
        this.#varint(keyTag);
        return this.#string();
      case 'int-or-string':
        return this.#intOrString();
      case 'array':
        this.#list(plan.items!, tagOf(1, plan.items!.wire));
        return true;
    }
    throw new OtherForm();
  }

  #boolean(): boolean {
    const isTrue = this.#text[this.#at] === smallT;
    if (!isTrue && this.#text[this.#at] !== smallF) throw new OtherForm();
    this.#at += isTrue ? 'true'.length : 'false'.length;
    this.#varint(isTrue ? 1 : 0);
    return isTrue;
  }

  #integer(): boolean {
    const isNegative = this.#text[this.#at] === minus;
    if (isNegative) this.#at++;
    const start = this.#at;
    let end = start;
    while (isDigit(this.#text[end]!)) end++;
    if (end - start > digitsMax) throw new OtherForm();
    const value = this.#digits(end - start);
    if (isNegative && value > 0) this.#negative(value);
    else this.#varint(value);
    return value !== 0;
  }

  /** Reads so many digits. */
  #digits(count: number): number {
    let value = 0;
    if (count === 0) throw new OtherForm();
    for (let i = 0; i < count; i++) {
      const byte = this.#text[this.#at++]!;
      if (!isDigit(byte)) throw new OtherForm();
      value = value * 10 + byte - zero;
    }
    return value;
  }

  /** Reads a part of a time, and what stands behind it. */
  #timePart(digits: number, end: number): number {
    const value = this.#digits(digits);
    if (this.#text[this.#at++] !== end) throw new OtherForm();
    return value;
  }

  /** {1 seconds, 2 nanos}. */
  #time(): true {
    if (this.#text[this.#at++] !== quote) throw new OtherForm();
    const year = this.#timePart(4, minus);
    const month = this.#timePart(2, minus);
    const day = this.#timePart(2, letterT);
    const hour = this.#timePart(2, colon);
    const minute = this.#timePart(2, colon);
    const second = this.#digits(2);
    if (year < firstYear || month < 1 || month > 12 || day < 1 || day > 31) throw new OtherForm();
    if (hour > 23 || minute > 59 || second > 59) throw new OtherForm();
    this.#varint(tagOf(1, 0));
    this.#varint(Date.UTC(year, month - 1, day, hour, minute, second) / 1000);
    if (this.#text[this.#at] === point) this.#nanos();
    if (this.#text[this.#at++] !== letterZ || this.#text[this.#at++] !== quote) throw new OtherForm();
    return true;
  }

  #nanos(): void {
    const start = ++this.#at;
    let end = start;
    while (isDigit(this.#text[end]!)) end++;
    if (end - start > fractionDigits) throw new OtherForm();
    const nanos = this.#digits(end - start) * 10 ** (fractionDigits - (end - start));
    if (nanos === 0) return;
    this.#varint(tagOf(2, 0));
    this.#varint(nanos);
  }

  /** {1 type, 2 intVal, 3 strVal}. */
  #intOrString(): boolean {
    const isText = this.#text[this.#at] === quote;
    this.#varint(tagOf(1, 0));
    this.#varint(isText ? 1 : 0);
    this.#varint(isText ? tagOf(3) : tagOf(2, 0));
    return isText ? this.#string() : this.#integer();
  }

  /** A text with its length before it. */
  #string(): boolean {
    const text = this.#text;
    const out = this.#out;
    let at = this.#at;
    if (text[at++] !== quote) throw new OtherForm();
    const open = this.#open();
    let to = this.#to;
    let byte = text[at]!;
    for (; byte < asciiEnd && byte !== quote && byte !== backslash; byte = text[++at]!) out[to++] = byte;
    if (byte === quote) {
      this.#at = at + 1;
      this.#to = to;
    } else {
      const start = this.#at;
      this.#skipString();
      this.#to += out.write(JSON.parse(text.toString('utf8', start, this.#at)) as string, open);
    }
    this.#close(open);
    return this.#to > open;
  }

  #base64(): boolean {
    const start = this.#at;
    if (this.#text[start] !== quote) throw new OtherForm();
    this.#skipString();
    const bytes = Buffer.from(this.#text.toString('latin1', start + 1, this.#at - 1), 'base64');
    this.#varint(bytes.length);
    this.#bytes(bytes, 0, bytes.length);
    return bytes.length > 0;
  }

  /** JSON inside a message: {1 text}. */
  #raw(): true {
    const start = this.#at;
    this.#skip();
    const length = this.#at - start;
    this.#varint(1 + varintBytes(length) + length);
    this.#varint(keyTag);
    this.#varint(length);
    this.#bytes(this.#text, start, this.#at);
    return true;
  }

  /** Steps over a value. */
  #skip(): void {
    this.#goTo(valueEnd(this.#text, this.#at));
  }

  #skipString(): void {
    this.#goTo(stringEnd(this.#text, this.#at));
  }

  #goTo(end: number): void {
    if (end < 0) throw new OtherForm();
    this.#at = end;
  }

  // Bytes

  /** Begins a part with its length before it, for which so many bytes are kept. */
  #open(lead = 1): number {
    this.#to += lead;
    return this.#to;
  }

  /** Returns how many bytes the length took. */
  #close(open: number, lead = 1): number {
    const length = this.#to - open;
    const bytes = varintBytes(length);
    if (bytes !== lead) this.#out.copyWithin(open - lead + bytes, open, this.#to);
    this.#to = open - lead;
    this.#varint(length);
    this.#to += length;
    return bytes;
  }

  #varint(value: number): void {
    const out = this.#out;
    let to = this.#to;
    let rest = value;
    // Nearly all are small.
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) out[to++] = (rest % 0x80) + 0x80;
    out[to++] = rest;
    this.#to = to;
  }

  #negative(value: number): void {
    let rest = BigInt.asUintN(64, -BigInt(value));
    for (; rest >= 0x80n; rest >>= 7n) this.#out[this.#to++] = Number(rest & 0x7fn) + 0x80;
    this.#out[this.#to++] = Number(rest);
  }

  #bytes(source: Buffer, start: number, end: number): void {
    const out = this.#out;
    let to = this.#to;
    this.#to = to + end - start;
    if (end - start > loopBytesMax) copyBytes(source, out, to, start, end);
    else for (let at = start; at < end; at++) out[to++] = source[at]!;
  }
}

const varintBytes = (value: number): number =>
  value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : 4;

const isDigit = (byte: number): boolean => byte >= zero && byte <= nine;

const encoder = new TextEncoder();

/** The message of an object, until the next call, from the beginning of a text; undefined when that has another form. */
export const textMessage = (model: Model, text: Buffer, length: number): Buffer | undefined =>
  encoder.write(model, text, length);

/** The document of an object from its stored text; undefined when that has to be parsed. */
export function textDocument(
  type: TypeMeta,
  model: Model,
  text: Buffer,
  length: number,
): ProtobufDocument | undefined {
  const message = textMessage(model, text, length);
  if (!message) return undefined;
  const head = envelopeHead(type, message.length);
  const start = head.length;
  const end = start + message.length;
  const bytes = messageMemory(end + envelopeEnd.length);
  bytes.set(head);
  bytes.set(message, start);
  bytes.set(envelopeEnd, end);
  return { bytes, start, end };
}
