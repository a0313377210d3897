/**
 * Proves that the express lane and Node's server read the same requests from the bytes of a connection, whatever these are
 * and in whatever pieces they arrive: no bytes are a request to one and something else to the other.
 */
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ExpressLane } from './express-lane.ts';
import { ReadingServer, requestsInAll, requestText, type Seen, Wire } from './generated-requests.fixture.ts';

const node = new ReadingServer();
/** Requests that the lane has answered itself. */
let taken = 0;

async function laneReads(pieces: readonly string[]): Promise<{ requests: Seen[]; failed: boolean }> {
  const reading = { requests: [] as Seen[], failed: false };
  const wire = new Wire();
  const lane = new ExpressLane(
    {
      headerBytesMax: 16_384,
      firstMaxMs: 60_000,
      keepAliveMs: 60_000,
      accepts: (_method, url) => url !== '//',
      serve: ({ method, url, headers, body }, response) => {
        taken++;
        reading.requests.push({ method, url, headers, complete: true, body: body.toString('latin1') });
        response.writeHead(200, ['Content-Length', '0']);
        response.end();
      },
      handOver: () => node.take(wire, reading),
      refuseCut: (socket) => {
        reading.failed = true;
        socket.destroy();
      },
    },
    true,
  );
  lane.take(wire as unknown as Socket);
  await wire.send(pieces);
  return reading;
}

/** After a request that ends the connection, what else is read of it depends on how fast its answer was. */
function upToTheLast({ requests, failed }: { requests: Seen[]; failed: boolean }): unknown {
  const complete = requests.filter(({ complete }) => complete);
  const last = complete.findIndex(({ headers }) => /close|upgrade/i.test(headers.connection ?? ''));
  return last < 0 ? { requests: complete, failed } : complete.slice(0, last + 1);
}

/** The bytes of up to three requests. Most come as they are; some are cut, and some are joined with the one behind them. */
const connection = fc
  .array(
    fc.record({
      text: requestText,
      // From the end, where a body can be cut.
      cut: fc.option(fc.oneof(fc.nat(3), fc.nat(300)), { freq: 2 }),
      isJoined: fc.nat(5).map((n) => n === 0),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((requests) => {
    const pieces: string[] = [];
    let joined = '';
    for (const { text, cut, isJoined } of requests) {
      const place = cut === null ? text.length : Math.max(text.length - cut, 0);
      pieces.push(joined + text.slice(0, place), text.slice(place));
      joined = isJoined ? pieces.pop()! : '';
    }
    return [...pieces, joined].filter((piece) => piece !== '');
  });

it('the lane reads what Node reads, in whatever pieces it comes', async () => {
  taken = 0;
  await fc.assert(
    fc.asyncProperty(connection, async (pieces) => {
      const [lane, alone] = [await laneReads(pieces), await node.read(pieces)];
      expect(upToTheLast(lane)).toEqual(upToTheLast(alone));
    }),
    { numRuns: requestsInAll },
  );
  expect(taken).toBeGreaterThan(requestsInAll / 10);
});
