// Proves the encoding of messages, keys and stamps without an etcd.
import { describe, expect, it } from 'vitest';
import { MessageReader } from '../../api/protobuf/message-reader.ts';
import { MessageWriter } from '../../api/protobuf/message-writer.ts';
import { connectProblem } from './connect-problem.ts';
import { Keyspace } from './keyspace.ts';
import { decodeRange, decodeWatch, encodeTxn } from './messages.ts';
import { Marks, STAMP_BYTES, stamp, unstamp } from './stamp.ts';

describe('messages', () => {
  it('carry numbers, bytes and messages, and skip fields they do not know', () => {
    const message = new MessageWriter()
      .number(1, 0)
      .number(2, 300)
      .number(3, Number.MAX_SAFE_INTEGER)
      .bytes(4, Buffer.from('text'))
      .message(15, new MessageWriter().number(1, 127).number(2, 128))
      .finish();
    const reader = new MessageReader(message);
    const seen: unknown[] = [];
    while (reader.next())
      if (reader.field === 4) seen.push(reader.text());
      else if (reader.field === 15) {
        const inner = reader.message();
        while (inner.next()) seen.push([inner.field, inner.number()]);
      } else if (reader.field === 2) reader.skip();
      else seen.push(reader.number());
    expect(seen).toEqual([0, Number.MAX_SAFE_INTEGER, 'text', [1, 127], [2, 128]]);
  });

  it('are refused when they end too early', () => {
    for (const bytes of [[0x12], [0x12, 5, 1], [0x18], [0x18, 0x80]])
      expect(() => decodeRange(Buffer.from(bytes))).toThrow(/unexpected EOF/);
    expect(() => decodeRange(Buffer.from([0x7b]))).toThrow(/groups are not supported/);
  });

  it('write the 0 of a comparison, which is one of several kinds', () => {
    const txn = encodeTxn({ compare: [{ key: Buffer.from('k'), revision: 0 }], otherwise: [] });
    expect(txn.toString('hex')).toBe('0a0710021a016b3000');
  });

  it('read ids of 64 bits and negative numbers', () => {
    const id = Buffer.from('08ffffffffffffffffff01', 'hex');
    const reader = new MessageReader(id);
    reader.next();
    expect(reader.id()).toBe('18446744073709551615');
    // The watch id of a progress answer is -1.
    expect(decodeWatch(Buffer.from('10ffffffffffffffffff01', 'hex')).events).toEqual([]);
  });
});

describe('keys', () => {
  const keyspace = new Keyspace('/registry/');
  const keys = ['a', 'a\0b', 'a\0/b', 'a-b', 'a/b', 'b', '\uffff', '\u{1f600}'];

  it('keep their order and come back', () => {
    const encoded = keys.map((key) => keyspace.encode(key));
    expect(encoded.toSorted(Buffer.compare)).toEqual(
      keys
        .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
        .map((key) => keyspace.encode(key)),
    );
    expect(encoded.map((key) => keyspace.decode(key))).toEqual(keys);
    expect(String(keyspace.encode('core/pods\0default\0web'))).toBe('/registry/core/pods\0/default\0/web');
  });

  it('are never those of bookkeeping', () => {
    for (const own of [keyspace.deletion, keyspace.progress, keyspace.server('x')]) {
      expect(keyspace.decode(own)).toBeUndefined();
      for (const key of keys) expect(Buffer.compare(keyspace.encode(key), own)).toBeLessThan(0);
      expect(Buffer.compare(own, keyspace.end)).toBeLessThan(0);
    }
  });
});

describe('stamps', () => {
  it('give value, time and mark back', () => {
    const marks = new Marks(4711);
    const [first, second] = [marks.next(), marks.next()];
    expect([first, second]).toEqual(['0000471100000001', '0000471100000002']);
    const stamped = stamp(Buffer.from('{}'), 1_700_000_000_000, first);
    expect(String(stamped)).toBe('{}\n1700000000000.0000471100000001');
    expect(stamped.length).toBe(2 + STAMP_BYTES);
    expect(unstamp(stamped)).toEqual({ value: Buffer.from('{}'), timeMs: 1_700_000_000_000, mark: first });
    expect(unstamp(stamp(Buffer.alloc(0), 0, second))).toEqual({
      value: Buffer.alloc(0),
      timeMs: 0,
      mark: second,
    });
  });

  it('are not seen in what another program wrote', () => {
    for (const text of ['', '{"a":1}', '{"a":1}\n1700000000000', `${'x'.repeat(40)}`])
      expect(unstamp(Buffer.from(text))).toEqual({ value: Buffer.from(text) });
  });
});

describe('a member that cannot be reached', () => {
  it('is named with the option to look at', () => {
    expect(connectProblem('https://a:1', 'unable to verify the first certificate')).toMatch(
      /set --etcd-cafile/,
    );
    expect(connectProblem('https://a:1', 'tlsv13 alert certificate required')).toMatch(/set --etcd-certfile/);
    expect(connectProblem('http://a:1', 'something else')).toBe('http://a:1: something else');
  });
});
