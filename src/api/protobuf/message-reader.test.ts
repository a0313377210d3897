/** Proves that messages are read field by field within their bounds, whatever the bytes are. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageReader } from './message-reader.ts';
import { MessageWriter } from './message-writer.ts';
import { ProtobufError } from './protobuf-reader.ts';

const reader = (...bytes: number[]): MessageReader => new MessageReader(Buffer.from(bytes));

/** The first field, read in this way. */
const first = <T>(from: MessageReader, read: (field: MessageReader) => T): T => {
  expect(from.next()).toBe(true);
  return read(from);
};

describe('a message', () => {
  it('goes on behind a message inside it, of which any part was read', () => {
    const inside = new MessageWriter().number(1, 5).message(2, new MessageWriter().number(1, 6).number(2, 7));
    const bytes = new MessageWriter()
      .message(1, inside)
      .number(2, 8)
      .message(3, inside)
      .number(4, 9)
      .finish();
    const outer = new MessageReader(bytes);
    const seen: unknown[] = [];
    while (outer.next()) {
      if (outer.field % 2 === 0) seen.push(outer.number());
      else {
        const inner = outer.message();
        while (inner.next() && outer.field === 1)
          if (inner.field === 1) seen.push(inner.number());
          else seen.push(first(inner.message(), (deep) => deep.number()));
      }
    }
    expect(seen).toEqual([5, 6, 8, 9]);
  });

  it('has numbers of 64 bits, as numbers and as text', () => {
    const large = [0x08, ...Array(9).fill(0xff), 0x01];
    expect(first(reader(...large), (field) => field.id())).toBe('18446744073709551615');
    expect(first(reader(...large), (field) => field.number())).toBe(2 ** 64);
    expect(first(reader(0x08, 0x80, 0x80, 0x80, 0x80, 0x10), (field) => field.number())).toBe(2 ** 32);
  });

  it('gives bytes that are its own, and text whatever its bytes are', () => {
    const source = Buffer.from([0x0a, 2, 0x61, 0xff]);
    const bytes = first(new MessageReader(source), (field) => field.bytes());
    const text = first(new MessageReader(source), (field) => field.text());
    source.fill(0);
    expect([...bytes]).toEqual([0x61, 0xff]);
    expect(text).toBe('a\ufffd');
  });

  it.each([
    ['a varint of more than ten bytes', [0x08, ...Array(10).fill(0x80), 0x01], 'integer overflow'],
    ['a tenth byte of more than one bit', [0x08, ...Array(9).fill(0xff), 0x02], 'integer overflow'],
    ['the field 0', [0x00, 0x00], 'illegal tag 0'],
    ['a tag of more than 32 bits', [0x88, 0x80, 0x80, 0x80, 0x10, 0x00], 'illegal tag'],
    ['a length beyond its end', [0x0a, 3, 0x61, 0x62], 'unexpected EOF'],
    ['a length of 64 bits', [0x0a, ...Array(9).fill(0xff), 0x01], 'unexpected EOF'],
    ['a group', [0x0b, 0x0c], 'groups are not supported'],
    ['a wire type that is none', [0x0e], 'illegal wireType 6'],
    ['a cut number of 64 bits', [0x09, 1, 2, 3], 'unexpected EOF'],
    ['a cut number of 32 bits', [0x0d, 1, 2, 3], 'unexpected EOF'],
  ])('is refused with %s', (_what, bytes, problem) => {
    const from = reader(...bytes);
    expect(() => {
      while (from.next()) from.skip();
    }).toThrow(problem);
  });

  it('is refused when a field has another wire type than its reader expects', () => {
    expect(() => first(reader(0x0a, 0), (field) => field.number())).toThrow('wrong wireType = 2 for field 1');
    expect(() => first(reader(0x08, 0), (field) => field.text())).toThrow('wrong wireType = 0 for field 1');
    expect(() => first(reader(0x0d, 0, 0, 0, 0), (field) => field.id())).toThrow('wrong wireType = 5');
  });

  it('does not end a message inside it later than its own end', () => {
    const inner = first(reader(0x0a, 2, 0x0a, 1, 0x61), (field) => field.message());
    expect(() => first(inner, (field) => field.bytes())).toThrow('unexpected EOF');
  });

  it('ends or is refused, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const from = new MessageReader(Buffer.from(bytes));
        try {
          while (from.next()) from.skip();
        } catch (error) {
          expect(error).toBeInstanceOf(ProtobufError);
        }
      }),
    );
  });
});
