import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import {
  type ControlFrame,
  encodeDataHead,
  encodeGoaway,
  encodePing,
  encodeRstStream,
  encodeSynReply,
  encodeSynStream,
  FrameParser,
  SpdyProtocolError,
} from './spdy-frame.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

type Told = ControlFrame | { type: 'data'; id: number; bytes: string; fin: boolean };

/** A new parser, and what it tells; data frames of one stream that follow each other are joined. */
function listened(): { told: Told[]; parser: FrameParser } {
  const told: Told[] = [];
  const parser = new FrameParser({
    onControl: (frame) => told.push('block' in frame ? { ...frame, block: Buffer.from(frame.block) } : frame),
    onData: (id, bytes, fin) => {
      const last = told.at(-1);
      if (last?.type === 'data' && last.id === id && !last.fin) {
        last.bytes += bytes.toString('hex');
        last.fin = fin;
      } else told.push({ type: 'data', id, bytes: bytes.toString('hex'), fin });
    },
  });
  return { told, parser };
}

function parse(chunks: Iterable<Buffer>): Told[] {
  const { told, parser } = listened();
  for (const chunk of chunks) expect(parser.push(chunk)).toBe(chunk.length);
  return told;
}

function* split(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const block1 = hex('78f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff');
const block3 = hex('c22ac5565c92925f5a02000000ffff');
const replyBlock = hex('78bbe3c6a7c262000200000000ffff');
const status = '7b226d65746164617461223a7b7d2c22737461747573223a2253756363657373227d';
const syn = { type: 'synStream', fin: false, unidirectional: false } as const;

/** Frames of kubectl 1.20 and a kubelet: the bytes, their meaning, and our encoding. */
const vectors: [string, Told, Buffer][] = [
  [
    `80030001 00000029 00000001 00000000 0000 ${block1.toString('hex')}`,
    { ...syn, id: 1, block: block1 },
    encodeSynStream(1, block1),
  ],
  [
    `80030001 00000019 00000003 00000000 0000 ${block3.toString('hex')}`,
    { ...syn, id: 3, block: block3 },
    encodeSynStream(3, block3),
  ],
  [
    `80030002 00000013 00000001 ${replyBlock.toString('hex')}`,
    { type: 'synReply', id: 1, fin: false, block: replyBlock },
    encodeSynReply(1, replyBlock),
  ],
  [
    '00000003 00000003 68690a',
    { type: 'data', id: 3, bytes: '68690a', fin: false },
    Buffer.concat([encodeDataHead(3, 3, false), Buffer.from('hi\n')]),
  ],
  [
    `00000001 00000022 ${status}`,
    { type: 'data', id: 1, bytes: status, fin: false },
    Buffer.concat([encodeDataHead(1, 0x22, false), hex(status)]),
  ],
  ['00000005 01000000', { type: 'data', id: 5, bytes: '', fin: true }, encodeDataHead(5, 0, true)],
  ['80030003 00000008 00000001 00000005', { type: 'rstStream', id: 1, status: 5 }, encodeRstStream(1, 5)],
  ['80030007 00000008 00000000 00000000', { type: 'goaway', lastId: 0, status: 0 }, encodeGoaway(0, 0)],
  ['80030006 00000004 00000001', { type: 'ping', id: 1 }, encodePing(1)],
];

/** Frames that are read but never sent. */
const received: [string, Told][] = [
  ['80030004 0000000c 00000001 00000007 00010000', { type: 'settings' }],
  ['80030009 00000008 00000000 00010000', { type: 'windowUpdate', id: 0, delta: 65536 }],
  ['80030008 01000005 00000007 ff', { type: 'headers', id: 7, fin: true, block: hex('ff') }],
  [
    '80030001 0300000b 00000007 00000000 e000 ff',
    { ...syn, id: 7, fin: true, unidirectional: true, block: hex('ff') },
  ],
  ['80030002 01000004 00000007', { type: 'synReply', id: 7, fin: true, block: hex('') }],
  ['00000005 01000001 aa', { type: 'data', id: 5, bytes: 'aa', fin: true }],
];

describe('frames', () => {
  it('are written byte for byte as Kubernetes does', () => {
    // Proves that each encoder gives the recorded bytes.
    for (const [bytes, , encoded] of vectors)
      expect(encoded.toString('hex')).toBe(hex(bytes).toString('hex'));
  });

  it('are read from the recorded bytes', () => {
    // Proves that each frame is parsed alone.
    for (const [bytes, frame] of [...vectors, ...received]) expect(parse([hex(bytes)])).toEqual([frame]);
  });

  it('are the same however the bytes are cut', () => {
    // Proves that heads, bodies and data may arrive split at any byte, or all at once.
    const all = Buffer.concat([...vectors, ...received].map(([bytes]) => hex(bytes)));
    const frames = parse([all]);
    expect(frames).toHaveLength(vectors.length + received.length);
    for (let size = 1; size <= 64; size++) expect(parse(split(all, size))).toEqual(frames);
    for (let at = 0; at <= all.length; at++)
      expect(parse([all.subarray(0, at), all.subarray(at)])).toEqual(frames);
  });

  it('are the same when few are taken in each call', () => {
    const all = Buffer.concat([...vectors, ...received].map(([bytes]) => hex(bytes)));
    for (const framesMax of [1, 2, 5]) {
      const { told, parser } = listened();
      let calls = 0;
      for (let rest = all; rest.length > 0; calls++) rest = rest.subarray(parser.push(rest, framesMax));
      expect(told).toEqual(parse([all]));
      expect(calls).toBeGreaterThanOrEqual((vectors.length + received.length) / framesMax);
    }
  });

  it('with headers count as ten of the few that are taken in a call', () => {
    // Proves that a turn of the event loop inflates few headers: 250 of them took a tenth of a second.
    const { told, parser } = listened();
    const opening = encodeSynStream(1, hex('00'));
    const chunk = Buffer.concat(Array.from({ length: 100 }, () => opening));
    expect(parser.push(chunk, 250)).toBe(25 * opening.length);
    expect(told).toHaveLength(25);
  });

  it('of empty data without FIN say nothing', () => {
    // Proves that an empty frame is legal and ignored.
    expect(parse([hex('00000005 00000000 80030006 00000004 00000001')])).toEqual([{ type: 'ping', id: 1 }]);
  });

  it('of 16 MiB are passed on as they arrive, uncopied', () => {
    // Proves that a large data frame is never buffered: each piece is a view of the chunk it came in.
    const chunk = Buffer.alloc(64 * 1024, 7);
    const pieces: { same: boolean; length: number; fin: boolean }[] = [];
    const parser = new FrameParser({
      onControl: () => {},
      onData: (_id, bytes, fin) =>
        pieces.push({ same: bytes.buffer === chunk.buffer, length: bytes.length, fin }),
    });
    const length = 2 ** 24 - 1;
    parser.push(encodeDataHead(9, length, true));
    for (let left = length; left > 0; left -= chunk.length)
      parser.push(chunk.subarray(0, Math.min(left, chunk.length)));
    expect(pieces).toHaveLength(256);
    expect(pieces.every(({ same }) => same)).toBe(true);
    expect(pieces.reduce((sum, piece) => sum + piece.length, 0)).toBe(length);
    expect(pieces.map(({ fin }) => fin).indexOf(true)).toBe(255);
  });

  it.each([
    ['another version', '80020006 00000004 00000001'],
    ['an unknown type', '80030005 00000000'],
    ['type 10', '8003000a 00000000'],
    ['type 0', '80030000 00000000'],
    ['an oversized control frame', '80030001 00010001'],
    ['a 16 MiB control frame', '80030004 00ffffff'],
    ['a short SYN_STREAM', '80030001 00000009 000000010000000000'],
    ['a short SYN_REPLY', '80030002 00000003 000001'],
    ['a short RST_STREAM', '80030003 00000004 00000001'],
    ['a long PING', '80030006 00000008 0000000100000001'],
    ['a long GOAWAY', '80030007 0000000c 000000000000000000000000'],
    ['a short WINDOW_UPDATE', '80030009 00000004 00000001'],
    ['SETTINGS of a wrong length', '80030004 00000004 00000001'],
    ['ping id 0', '80030006 00000004 00000000'],
    ['stream id 0 in SYN_STREAM', '80030001 0000000a 00000000000000000000'],
    ['stream id 0 in data', '00000000 00000001 00'],
    ['reset status 0', '80030003 00000008 0000000100000000'],
  ])('with %s are refused', (_name, bytes) => {
    // Proves that malformed frames are detected at once, also when received byte by byte.
    expect(() => parse([hex(bytes)])).toThrow(SpdyProtocolError);
    expect(() => parse(split(hex(bytes), 1))).toThrow(SpdyProtocolError);
  });

  it('from random bytes are understood or refused, nothing else', () => {
    // Proves that any input parses or throws a SpdyProtocolError, however it is split.
    const heads = fc.constantFrom(
      '80030001',
      '80030002',
      '80030003',
      '80030004',
      '80030006',
      '80030008',
      '00000001',
    );
    const frame = fc
      .tuple(
        heads,
        fc.uint8Array({ minLength: 0, maxLength: 40 }),
        fc.integer({ min: -2, max: 2 }),
        fc.nat(3),
      )
      .map(([head, body, off, flags]) => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(Math.max(0, body.length + off));
        length[0] = flags;
        return Buffer.concat([hex(head), length, body]);
      });
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
      fc.array(frame, { maxLength: 6 }).map((frames) => Buffer.concat(frames)),
    );
    const outcome = (chunks: Iterable<Buffer>): unknown => {
      try {
        return parse(chunks);
      } catch (error) {
        expect(error).toBeInstanceOf(SpdyProtocolError);
        return 'refused';
      }
    };
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 30 }), (all, size) => {
        expect(outcome(split(all, size))).toEqual(outcome([all]));
      }),
      { numRuns: rounds(2000) },
    );
  });
});
