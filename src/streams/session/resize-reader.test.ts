import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ResizeReader } from './resize-reader.ts';

const sizes = (...pieces: string[]) => {
  const reader = new ResizeReader();
  return pieces.flatMap((piece) => reader.read(Buffer.from(piece)));
};

describe('ResizeReader', () => {
  it('reads objects however they are cut', () => {
    // Proves that frame boundaries do not matter.
    expect(sizes('{"Width":10', '0,"Height":30}\n{"Width":80,"Hei', 'ght":24}\n')).toEqual([
      { width: 100, height: 30 },
      { width: 80, height: 24 },
    ]);
  });

  it('needs neither a newline nor capitals', () => {
    // Proves that the format of client-node is accepted.
    expect(sizes('{"height":24,"width":80}{"HEIGHT":1,"WIDTH":2}')).toEqual([
      { width: 80, height: 24 },
      { width: 2, height: 1 },
    ]);
  });

  it('skips what is no size', () => {
    // Proves that zero, too large, missing and foreign values are ignored, and what follows is still read.
    expect(
      sizes(
        '{"Width":0,"Height":5}{"Width":65536,"Height":5}{"Width":5}{"Width":"5","Height":5}{"Width":1.5,"Height":5}',
        'nonsense}{{{"Width":65535,"Height":1}',
      ),
    ).toEqual([{ width: 65535, height: 1 }]);
  });

  it('keeps a bounded rest', () => {
    // Proves that an endless object is dropped, and the next one read.
    const reader = new ResizeReader();
    for (let i = 0; i < 100; i++) expect(reader.read(Buffer.alloc(1_000_000, '{'))).toEqual([]);
    expect(reader.read(Buffer.from('{"Width":7,"Height":8}'))).toEqual([{ width: 7, height: 8 }]);
  });

  it('tries no object for each brace', () => {
    // Proves that garbage takes the time of reading it: an error for each brace took seconds for a megabyte.
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    const reader = new ResizeReader();
    for (const text of ['}', '{}', '{"Width":1,"Height":x}', '{"Width":1,"Width":2}'])
      expect(reader.read(Buffer.alloc(4096, text))).toEqual([]);
    expect(parse).not.toHaveBeenCalled();
    expect(reader.read(Buffer.from('} {"Width":7,"Height":8}'))).toEqual([{ width: 7, height: 8 }]);
  });

  it('survives any bytes', () => {
    // Proves that no input throws.
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.uint8Array(),
            fc.json().map((json) => Buffer.from(json)),
          ),
        ),
        (pieces) => {
          const reader = new ResizeReader();
          for (const piece of pieces)
            for (const { width, height } of reader.read(Buffer.from(piece)))
              expect(width > 0 && height > 0 && width < 65536 && height < 65536).toBe(true);
        },
      ),
    );
  });
});
