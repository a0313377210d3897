/** Proves that events of a watch are read whatever the pieces are that they come in, and long ones once. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { ClientWatch } from './client-watch.ts';

interface Data {
  readonly data: string;
}

/** What a watch tells of events that come in pieces of a length. */
function told(text: string, pieceBytes: number): Promise<string[]> {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, i) =>
    bytes.subarray(i * pieceBytes, (i + 1) * pieceBytes),
  );
  const response = Object.assign(Readable.from(pieces, { objectMode: false }), { statusCode: 200 });
  return new Promise((resolve) => {
    const events: string[] = [];
    new ClientWatch<Data>({
      changed: (type, { data }) => events.push(`${type} ${data}`),
      bookmark: (version) => events.push(`BOOKMARK ${version}`),
      ended: (error) => resolve(error ? [...events, error.message] : events),
    }).read(response as unknown as IncomingMessage);
  });
}

const eventOf = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;

it('tells each event once', async () => {
  const text =
    eventOf('ADDED', { data: 'grün' }) +
    eventOf('BOOKMARK', { metadata: { resourceVersion: '7' } }) +
    eventOf('ERROR', { code: 410, reason: 'Expired', message: 'too old' });
  for (const length of [1, 7, 64, 1_000])
    expect(await told(text, length)).toEqual(['ADDED grün', 'BOOKMARK 7', 'too old']);
});

it('reads a long event in a time in proportion to its length', async () => {
  const data = 'x'.repeat(8_000_000);
  const { user, system } = process.cpuUsage();
  expect(await told(eventOf('ADDED', { data }), 1_000)).toEqual([`ADDED ${data}`]);
  const used = process.cpuUsage();
  // Searched from its beginning with each piece, it is 32 GB.
  expect(used.user + used.system - user - system).toBeLessThan(2_000_000);
});
