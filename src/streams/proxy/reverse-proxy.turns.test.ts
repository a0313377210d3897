/** Proves that requests which begin at once, or whose clients leave at once, take turns of the event loop. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { forward, type ProxyTarget } from './reverse-proxy.ts';

const count = 60;
/** Others of this process may have used the turn; what a queue begins falls on both sides of the turn that counts. */
const ofTurnMax = 12;

/** How many of all are done in the turn that has most, when all of them are done. */
async function most(done: () => number): Promise<number> {
  let [before, most] = [0, 0];
  while (before < count) {
    await nextTurn();
    most = Math.max(most, done() - before);
    before = done();
  }
  return most;
}

it('begins and ends a few requests in each turn', async () => {
  let [connects, ends] = [0, 0];
  const target: ProxyTarget = {
    connect: () => {
      connects++;
      return new Promise(() => undefined);
    },
    host: 'pod:80',
    path: '/',
    prefix: '',
    rewrite: false,
    dropCors: false,
    ownOrigin: false,
    keepHost: true,
  };
  const responses = Array.from({ length: count }, () => {
    const request = new IncomingMessage(new Socket());
    request.method = 'GET';
    const response = new ServerResponse(request);
    void forward(request, response, target).then(() => ends++);
    return response;
  });
  expect(await most(() => connects)).toBeLessThanOrEqual(ofTurnMax);
  expect(ends).toBe(0);
  for (const response of responses) response.emit('close');
  expect(await most(() => ends)).toBeLessThanOrEqual(ofTurnMax);
});
