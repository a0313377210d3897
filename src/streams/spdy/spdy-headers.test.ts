import { createHash } from 'node:crypto';
import { constants, createDeflate, deflateRawSync, deflateSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { SpdyProtocolError } from './spdy-frame.ts';
import { dictionary, HeaderDecoder, HeaderEncoder } from './spdy-headers.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

function plainBlock(pairs: [string, string][]): Buffer {
  const parts: Buffer[] = [];
  const number = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    parts.push(bytes);
  };
  number(pairs.length);
  for (const text of pairs.flat()) {
    number(Buffer.byteLength(text));
    parts.push(Buffer.from(text));
  }
  return Buffer.concat(parts);
}

/** A first block, made by zlib. */
const compressed = (plain: Buffer): Buffer =>
  deflateSync(plain, { dictionary, finishFlush: constants.Z_SYNC_FLUSH });

const headers = fc
  .uniqueArray(
    fc.tuple(fc.stringMatching(/^[a-z0-9-]{1,20}$/), fc.string({ unit: 'grapheme', maxLength: 60 })),
    {
      maxLength: 8,
      selector: ([name]) => name,
    },
  )
  .map((pairs) => Object.fromEntries(pairs));

describe('the dictionary', () => {
  it('is that of SPDY/3', () => {
    // Proves that every byte of the dictionary is right.
    expect(dictionary).toHaveLength(1423);
    expect(createHash('sha256').update(dictionary).digest('hex')).toBe(
      '51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02',
    );
  });
});

describe('header blocks', () => {
  it('of kubectl 1.20 are read, in one context', () => {
    // Proves that Go's blocks are decompressed, each building on the one before.
    const decoder = new HeaderDecoder();
    const first = decoder.decode(hex('78f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff'));
    const second = decoder.decode(hex('c22ac5565c92925f5a02000000ffff'));
    const third = decoder.decode(hex('c229975a5404000000ffff'));
    expect([first, second, third].map((read) => ({ ...read }))).toEqual([
      { streamtype: 'error' },
      { streamtype: 'stdout' },
      { streamtype: 'stderr' },
    ]);
  });

  it('without headers are written and read as recorded', () => {
    // Proves that our SYN_REPLY has the bytes of the recorded vectors.
    const encoder = new HeaderEncoder();
    const blocks = [encoder.encode({}), encoder.encode({}), encoder.encode({})];
    expect(blocks.map((block) => block.toString('hex'))).toEqual([
      '78bbe3c6a7c262000200000000ffff',
      '020100000000ffff',
      '020100000000ffff',
    ]);
    const decoder = new HeaderDecoder();
    for (const block of blocks) expect({ ...decoder.decode(block) }).toEqual({});
  });

  it('may be stored without compression and without the dictionary', () => {
    // Proves the alternative first reply of the vectors, and that the context continues from there.
    const decoder = new HeaderDecoder();
    expect({ ...decoder.decode(hex('7801 00 0400 fbff 00000000 00 0000 ffff')) }).toEqual({});
    expect({ ...decoder.decode(hex('00 0400 fbff 00000000 00 0000 ffff')) }).toEqual({});
  });

  it('we write are one zlib stream to zlib itself', () => {
    // Proves that a standard inflater reads thousands of our blocks, well beyond the window.
    const encoder = new HeaderEncoder();
    const blocks: Buffer[] = [];
    const plains: Buffer[] = [];
    for (let i = 0; i < 3000; i++) {
      const wanted: Record<string, string> = {
        streamType: i % 2 ? 'data' : 'error',
        port: `${i}`,
        requestID: `${i * 7919}`,
      };
      blocks.push(encoder.encode(wanted));
      plains.push(plainBlock(Object.entries(wanted).map(([name, value]) => [name.toLowerCase(), value])));
    }
    const inflated = inflateSync(Buffer.concat(blocks), { dictionary, finishFlush: constants.Z_SYNC_FLUSH });
    expect(inflated.equals(Buffer.concat(plains))).toBe(true);
  });

  it('of an ordinary deflater are read', async () => {
    // Proves that blocks whose matches reach back over the whole window are read.
    const deflater = createDeflate({ dictionary, level: 9 });
    const written: Buffer[] = [];
    deflater.on('data', (chunk: Buffer) => written.push(chunk));
    const decoder = new HeaderDecoder();
    const random = Buffer.from(createHash('sha512').update('seed').digest('hex').repeat(4));
    for (let i = 0; i < 400; i++) {
      const value = `${i % 7 ? i : 0}${random.toString('latin1', i, 500)}${i}`;
      deflater.write(plainBlock([['streamtype', value]]));
      await new Promise<void>((resolve) => deflater.flush(constants.Z_SYNC_FLUSH, resolve));
      expect({ ...decoder.decode(Buffer.concat(written.splice(0))) }).toEqual({ streamtype: value });
    }
    deflater.close();
  });

  it('come back as they were, block after block', () => {
    // Proves the codec for any headers in any order, `__proto__` and such included.
    fc.assert(
      fc.property(fc.array(headers, { maxLength: 30 }), (list) => {
        const encoder = new HeaderEncoder();
        const decoder = new HeaderDecoder();
        for (const one of list)
          expect(Object.entries(decoder.decode(encoder.encode(one)))).toEqual(Object.entries(one));
      }),
      { numRuns: 100 },
    );
  });

  it('with names that are special to objects are plain headers', () => {
    // Proves that no header name reaches the prototype.
    const read = new HeaderDecoder().decode(
      compressed(
        plainBlock([
          ['__proto__', 'x'],
          ['Constructor', 'y'],
        ]),
      ),
    );
    expect(Object.entries(read)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
  });

  it.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['no zlib head', hex('ffff0000ffff')],
    ['another dictionary', hex('78bb0000000062000200000000ffff')],
    ['no flush', deflateSync(plainBlock([]), { dictionary })],
    ['garbage', hex('78bbe3c6a7c2ffffffff0000ffff')],
    ['bytes left over', compressed(Buffer.concat([plainBlock([]), Buffer.from('x')]))],
    ['a count only', compressed(hex('00000001'))],
    ['a length beyond the block', compressed(hex('00000001 7fffffff 61'))],
    [
      'a name twice',
      compressed(
        plainBlock([
          ['a', '1'],
          ['A', '2'],
        ]),
      ),
    ],
    ['65 headers', compressed(plainBlock(Array.from({ length: 65 }, (_, i) => [`h${i}`, ''])))],
    ['a bomb', compressed(Buffer.concat([hex('00000001 00000001 61 03ffffff'), Buffer.alloc(2 ** 26 - 1)]))],
  ])('of %s are refused', (_name, block) => {
    // Proves that bad blocks end the connection, and oversized ones are not decompressed.
    expect(() => new HeaderDecoder().decode(block)).toThrow(SpdyProtocolError);
  });

  it('of random bytes are refused or read, nothing else', () => {
    // Proves that any block decodes or throws a SpdyProtocolError.
    const decoded = fc.oneof(
      fc
        .uint8Array({ maxLength: 100 })
        .map((bytes) => Buffer.concat([hex('78bbe3c6a7c2'), bytes, hex('0000ffff')])),
      fc.uint8Array({ maxLength: 100 }).map((bytes) => compressed(Buffer.from(bytes))),
      fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(decoded, fc.uint8Array({ maxLength: 50 }), (first, second) => {
        const decoder = new HeaderDecoder();
        for (const block of [first, deflateRawSync(second, { finishFlush: constants.Z_SYNC_FLUSH })]) {
          try {
            decoder.decode(block);
          } catch (error) {
            expect(error).toBeInstanceOf(SpdyProtocolError);
            return;
          }
        }
      }),
      { numRuns: rounds(1000) },
    );
  });
});
