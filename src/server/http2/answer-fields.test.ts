/** Proves that headers of answers are read as they were meant, whatever the client allows for the table. */
import { expect, it } from 'vitest';
import { FieldDecoder } from '../../http2/field-decoder.ts';
import { AnswerFields } from './answer-fields.ts';

const usual = [
  'Content-Type',
  'application/json',
  'Audit-Id',
  '1',
  'X-Kubernetes-PF-FlowSchema-UID',
  'f'.repeat(36),
];

/** An encoder, and the decoder of its client. */
function pair() {
  const fields = new AnswerFields();
  const decoder = new FieldDecoder();
  const sent = (code: number, ...lists: string[][]): { bytes: number; read: string[][] } => {
    const block = Buffer.alloc(fields.most(lists));
    const end = fields.write(block, 0, code, lists, 'today');
    return { bytes: end, read: decoder.decode(block, 0, end).map(({ name, value }) => [name, value]) };
  };
  return { fields, sent };
}

const wanted = (code: string): string[][] => [
  [':status', code],
  ['content-type', 'application/json'],
  ['audit-id', '1'],
  ['x-kubernetes-pf-flowschema-uid', 'f'.repeat(36)],
  ['date', 'today'],
];

it('headers that are repeated take a byte after their first time', () => {
  const { sent } = pair();
  const [first, second] = [sent(200, usual), sent(418, usual)];
  expect([first.read, second.read]).toEqual([wanted('200'), wanted('418')]);
  expect(first.bytes - second.bytes).toBeGreaterThan(80);
});

it('the table is as large as the client allows, and what was added before is not named again', () => {
  const { fields, sent } = pair();
  sent(200, usual);
  for (const size of [0, 4096, 100, 60, 1_000_000]) {
    fields.resize(size);
    expect(sent(200, usual).read).toEqual(wanted('200'));
    expect(sent(200, usual).read).toEqual(wanted('200'));
  }
});

it('a table that is full takes no more, and stays right', () => {
  const { sent } = pair();
  for (let round = 0; round < 2; round++)
    for (let i = 0; i < 200; i++) {
      const list = ['Content-Type', `text/x-${i}`];
      expect(sent(200, list).read.slice(1, 2)).toEqual([['content-type', `text/x-${i}`]]);
    }
});

it('an answer that is refused leaves the table as its client knows it', () => {
  const { sent } = pair();
  expect(() => sent(200, ['Vary', 'a', 'X-Bad', 'b\nc: d'])).toThrow(TypeError);
  expect(() => sent(200, ['Vary', 'a', 'x bad', 'b'])).toThrow(TypeError);
  expect(sent(200, ['Vary', 'b', 'Vary', 'a']).read.slice(1, 3)).toEqual([
    ['vary', 'b'],
    ['vary', 'a'],
  ]);
  expect(sent(200, ['Vary', 'a']).read[1]).toEqual(['vary', 'a']);
});

it('headers about the connection are left out, and a date is not doubled', () => {
  const { sent } = pair();
  expect(sent(204, ['Connection', 'close', 'Transfer-Encoding', 'chunked', 'Date', 'then']).read).toEqual([
    [':status', '204'],
    ['date', 'then'],
  ]);
});
