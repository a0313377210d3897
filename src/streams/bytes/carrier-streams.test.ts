/**
 * Proves that an outflow passes data on at once, in order, within its carrier's limits, and ends when all is
 * passed on.
 */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { optimized } from '../../switches.ts';
import { Outflow } from './carrier-streams.ts';

const block = Buffer.alloc(64 * 1024);
const letter = (text: string): Buffer => Buffer.from(text);

/** A carrier that records its data, and reports room as a test tells it. */
function carrier() {
  const taken: string[] = [];
  let waiting: (() => void) | undefined;
  const it = {
    taken,
    room: true,
    sink: (chunk: Buffer, onRoom: () => void): boolean => {
      taken.push(chunk.toString());
      if (!it.room) waiting = onRoom;
      return it.room;
    },
    makeRoom: (): void => {
      it.room = true;
      const onRoom = waiting;
      waiting = undefined;
      onRoom?.();
    },
  };
  return it;
}

describe('an outflow', () => {
  it('hands on at once while there is room', () => {
    const { sink, taken } = carrier();
    const outflow = new Outflow(sink);
    expect(outflow.write(letter('a'))).toBe(true);
    expect(taken).toEqual(['a']);
  });

  // Without the optimisations it is a stream of Node, which lets its writer go on until so much waits.
  const pieces = [...(optimized ? ['a'] : []), block.toString()];
  it.each(pieces.map((piece) => [piece.length, piece] as const))(
    'keeps what comes while there is none after %i bytes, in order, and says when there is again',
    async (_, first) => {
      const carried = carrier();
      const outflow = new Outflow(carried.sink);
      carried.room = false;
      expect(outflow.write(letter(first))).toBe(false);
      outflow.write(letter('b'));
      outflow.write(letter('c'));
      expect(carried.taken).toEqual([first]);
      const drained = once(outflow, 'drain');
      carried.makeRoom();
      await drained;
      outflow.write(letter('d'));
      await outflow.flush();
      expect(carried.taken).toEqual([first, 'b', 'c', 'd']);
    },
  );

  it('is finished when the carrier has all', async () => {
    const carried = carrier();
    const outflow = new Outflow(carried.sink);
    carried.room = false;
    outflow.write(letter('a'));
    let flushed = false;
    const over = outflow.flush().then(() => {
      flushed = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(flushed).toBe(false);
    carried.makeRoom();
    await over;
    expect(flushed).toBe(true);
  });

  it('stops a writer that never waits, and lets it go on in the next turn', async () => {
    const outflow = new Outflow(() => true);
    for (let turn = 0; turn < 3; turn++) {
      let written = 0;
      while (outflow.write(block)) written += block.length;
      expect(written).toBeGreaterThan(1024 * 1024);
      expect(written).toBeLessThan(16 * 1024 * 1024);
      await once(outflow, 'drain');
    }
  });
});
