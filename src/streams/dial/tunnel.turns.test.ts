/** Proves that the ends of many connections at once are passed on in turns of the event loop. */
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { memoryPipe } from '../bytes/memory-pipe.ts';
import { tunnel } from './tunnel.ts';

const count = 60;
/** Others of this process may have used the turn; what a queue begins falls on both sides of the turn that counts. */
const ofTurnMax = 14;
const agreed = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';

it('passes on few of many ends in a turn', async () => {
  let [joined, ended] = [0, 0];
  const clients = Array.from({ length: count }, () => {
    const [near, far] = memoryPipe();
    far.once('data', () => far.write(agreed));
    near.end = () => {
      ended++;
      return near;
    };
    const client = new Socket();
    client.write = () => {
      joined++;
      return true;
    };
    void tunnel({ socket: client, head: Buffer.alloc(0) }, near, { method: 'GET', path: '/', headers: [] });
    return client;
  });
  while (joined < 2 * count) await nextTurn();
  for (const client of clients) client.emit('end');
  let most = ended;
  for (let before = ended; before < count; before = ended) {
    await nextTurn();
    most = Math.max(most, ended - before);
  }
  expect(most).toBeLessThanOrEqual(ofTurnMax);
  for (const client of clients) client.destroy();
});
