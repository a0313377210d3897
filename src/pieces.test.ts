import { describe, expect, it } from 'vitest';
import { Pieces } from './pieces.ts';

describe('pieces of a message', () => {
  it('are kept together when they are small, whatever comes between them', () => {
    const pieces = new Pieces();
    const sent: Buffer[] = [];
    for (let i = 0; i < 30_000; i++) {
      const piece = Buffer.alloc(i % 1_000 === 999 ? 5_000 : 1 + (i % 3), i);
      sent.push(Buffer.from(piece));
      pieces.add(piece);
      // Its sender may use the memory again.
      if (i > 0 && piece.length < 5_000) piece.fill(0);
    }
    expect(pieces.list.length).toBeLessThan(100);
    expect(pieces.bytes).toBe(Buffer.concat(sent).length);
    expect(pieces.whole().equals(Buffer.concat(sent))).toBe(true);
    expect(pieces.take().equals(Buffer.concat(sent))).toBe(true);
    expect([pieces.bytes, pieces.take().length]).toEqual([0, 0]);
  });

  it('can be taken one by one while others come', () => {
    const pieces = new Pieces();
    const seen: Buffer[] = [];
    let text = '';
    for (let i = 0; i < 5_000; i++) {
      text += `${i},`;
      pieces.add(Buffer.from(`${i},`));
      if (i % 7 === 0) seen.push(pieces.shift()!);
    }
    while (pieces.bytes > 0) seen.push(pieces.shift()!);
    expect(pieces.shift()).toBeUndefined();
    expect(String(Buffer.concat(seen))).toBe(text);
  });

  it('have one that is alone as it came', () => {
    const pieces = new Pieces();
    const piece = Buffer.from('whole');
    expect(pieces.add(piece)).toBe(5);
    expect(pieces.take()).toBe(piece);
  });
});
