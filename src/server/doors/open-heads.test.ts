/** Proves that heads which never end are cut off when they are too many or too long, and that others are left alone. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { OpenHeads } from './open-heads.ts';

class FakeSocket extends EventEmitter {
  bytesRead = 0;
  readableLength = 0;
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const socketsOf = (count: number): FakeSocket[] => Array.from({ length: count }, () => new FakeSocket());

function waiting(heads: OpenHeads, sockets: readonly FakeSocket[]): void {
  for (const socket of sockets) heads.begin(socket as unknown as Socket);
}

const cut = (sockets: readonly FakeSocket[]): boolean[] => sockets.map(({ destroyed }) => destroyed);

describe('open heads', () => {
  it('are cut off, the longest first, when they hold too much together', () => {
    const heads = new OpenHeads({ count: 10, bytes: 100 });
    const sockets = socketsOf(3);
    waiting(heads, sockets);
    for (const [i, bytes] of [40, 70, 30].entries()) sockets[i]!.bytesRead = bytes;
    heads.check();
    expect(cut(sockets)).toEqual([false, true, false]);
  });

  it('are cut off, the oldest first, when they are too many', () => {
    const heads = new OpenHeads({ count: 2, bytes: 100 });
    const sockets = socketsOf(4);
    waiting(heads, sockets);
    for (const socket of sockets) socket.bytesRead = 1;
    heads.check();
    expect(cut(sockets)).toEqual([true, true, false, false]);
  });

  it('are not counted once they are complete, nor are connections that wait in silence', () => {
    const heads = new OpenHeads({ count: 1, bytes: 100 });
    const sockets = socketsOf(3);
    waiting(heads, sockets);
    sockets[0]!.bytesRead = 1_000;
    heads.end(sockets[0] as unknown as Socket);
    sockets[1]!.bytesRead = 5;
    heads.check();
    // The next request begins after what was read before.
    waiting(heads, [sockets[0]!]);
    heads.check();
    expect(cut(sockets)).toEqual([false, false, false]);
  });
});
