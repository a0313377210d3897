import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import {
  type DnsQuery,
  datagramBytesMax,
  encodeName,
  encodeReply,
  isAnswerTo,
  parseQuery,
  recordTypes,
} from './dns-message.ts';

function question(
  name: Buffer,
  type: number = recordTypes.A,
  more: Partial<Record<'flags' | 'count', number>> = {},
): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(0x1234, 0);
  header.writeUInt16BE(more.flags ?? 0x100, 2);
  header.writeUInt16BE(more.count ?? 1, 4);
  return Buffer.concat([header, name, Buffer.from([0, type, 0, 1])]);
}

const web = encodeName(['Web', 'default']);

describe('DNS messages', () => {
  it('are read with their question as it came', () => {
    // Names compare without case, but the answer repeats the case of the question.
    const query = parseQuery(question(web)) as DnsQuery;
    expect(query).toMatchObject({
      id: 0x1234,
      recursion: true,
      question: { labels: ['web', 'default'], type: recordTypes.A },
      datagramBytes: 512,
      extended: false,
    });
    expect(encodeReply(query, { code: 0, own: true }, 512).includes(web)).toBe(true);
  });

  it('that make no sense are refused or dropped', () => {
    // Answers and fragments are ignored; other malformed messages get an error code.
    const code = (bytes: Buffer): unknown => (parseQuery(bytes) as { code?: number } | undefined)?.code;
    expect(parseQuery(Buffer.alloc(0))).toBeUndefined();
    expect(parseQuery(Buffer.alloc(11))).toBeUndefined();
    expect(parseQuery(question(web, 1, { flags: 0x8000 }))).toBeUndefined();
    expect(code(question(web, 1, { flags: 0x2800 }))).toBe(4);
    expect(code(question(web, 1, { count: 0 }))).toBe(1);
    expect(code(question(web, 1, { count: 2 }))).toBe(1);
    // A name that points to itself, one without an end, one that is too long, one that runs past the message.
    expect(code(question(Buffer.from([0xc0, 12])))).toBe(1);
    expect(code(Buffer.concat([question(web).subarray(0, 12), Buffer.from([5, 97])]))).toBe(1);
    expect(code(question(Buffer.concat([...Array(130).fill(Buffer.from([1, 97])), Buffer.alloc(1)])))).toBe(
      1,
    );
    expect(code(question(web).subarray(0, -1))).toBe(1);
    const other = question(web);
    other.writeUInt16BE(3, other.length - 2);
    expect(code(other)).toBe(5);
  });

  it('say how much a client takes, within bounds', () => {
    const extended = (size: number, cut = 0): Buffer => {
      const record = Buffer.alloc(11);
      record.writeUInt16BE(recordTypes.OPT, 1);
      record.writeUInt16BE(size, 3);
      const bytes = Buffer.concat([question(web), record]);
      bytes.writeUInt16BE(1, 10);
      return bytes.subarray(0, bytes.length - cut);
    };
    expect(parseQuery(extended(800))).toMatchObject({ datagramBytes: 800, extended: true });
    expect(parseQuery(extended(10))).toMatchObject({ datagramBytes: 512 });
    expect(parseQuery(extended(65_535))).toMatchObject({ datagramBytes: datagramBytesMax });
    expect(parseQuery(extended(800, 1))).toEqual({ id: 0x1234, code: 1 });
  });

  it('that are too long are cut, and say so', () => {
    const query = parseQuery(question(web)) as DnsQuery;
    const answers = Array.from(
      { length: 50 },
      () => ({ type: 'A', name: ['web', 'default'], ttl: 5, address: '10.0.0.1' }) as const,
    );
    const whole = encodeReply(query, { code: 0, own: true, answers }, 2_000);
    expect([whole.readUInt16BE(6), whole[2]! & 0x2]).toEqual([50, 0]);
    const cut = encodeReply(query, { code: 0, own: true, answers }, 512);
    expect([cut.readUInt16BE(6), cut[2]! & 0x2, cut.length]).toEqual([0, 2, 12 + query.questionBytes.length]);
  });

  it('from strangers are not taken for answers', () => {
    const query = parseQuery(question(web)) as DnsQuery;
    const answer = encodeReply(query, { code: 0, own: false }, 512);
    expect(isAnswerTo(answer, 0x1234, query)).toBe(true);
    expect(isAnswerTo(answer, 0x1235, query)).toBe(false);
    expect(isAnswerTo(question(web), 0x1234, query)).toBe(false);
    expect(
      isAnswerTo(
        encodeReply(parseQuery(question(encodeName(['wed']))) as DnsQuery, { code: 0, own: false }, 512),
        0x1234,
        query,
      ),
    ).toBe(false);
    expect(isAnswerTo(Buffer.alloc(3), 0x1234, query)).toBe(false);
  });

  it('never throw, whatever is in them', () => {
    // Random bytes, and valid queries with changed and missing bytes.
    const damaged = fc
      .record({
        name: fc.array(fc.string({ minLength: 1, maxLength: 20 }), { maxLength: 8 }),
        changes: fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 6 }),
        cut: fc.nat(60),
      })
      .map(({ name, changes, cut }) => {
        const bytes = question(
          encodeName(name.map((label) => Buffer.from(label).toString('latin1').slice(0, 63))),
        );
        for (const [at, value] of changes) bytes[at % bytes.length] = value;
        return bytes.subarray(0, bytes.length - (cut > 30 ? 0 : cut));
      });
    const anything = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(anything, damaged), (bytes) => {
        const query = parseQuery(bytes);
        if (!query || 'code' in query) return;
        expect(query.question.labels.every((label) => label.length <= 63)).toBe(true);
        const reply = encodeReply(query, { code: 0, own: true }, query.datagramBytes);
        expect(reply.length).toBeLessThanOrEqual(query.datagramBytes);
        isAnswerTo(bytes, query.id, query);
      }),
      { numRuns: rounds(3_000) },
    );
  });
});
