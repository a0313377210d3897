/** Proves that interim answers beyond the bound cost nothing: thousands of them can be in the bytes that were read. */
import { type IncomingMessage, request } from 'node:http';
import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { boundInterim } from './interim-answers.ts';
import { optimized } from './switches.ts';

const tooMany =
  'net/http: HTTP/1.x transport connection broken: net/http: too many 1xx informational responses';
const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n';

interface Got {
  readonly interims: number;
  readonly error?: string;
  readonly text?: string;
  readonly isDestroyed: boolean;
}

/** What a request makes of bytes that come in one piece. */
function got(bytes: string, headers = {}): Promise<Got> {
  const connection: Duplex = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => done(),
    final: (done) => done(),
  });
  return new Promise((resolve) => {
    const sent = request({ createConnection: () => connection as never, headers });
    let interims = 0;
    const say = (more: object): void => resolve({ interims, isDestroyed: connection.destroyed, ...more });
    // It counts what Node has parsed, also after the end of the request.
    sent.on('information', () => interims++);
    boundInterim(sent);
    sent.on('error', ({ message }) => setImmediate(() => say({ error: message })));
    sent.on('response', (response: IncomingMessage) => {
      let text = '';
      response.setEncoding('latin1').on('data', (part: string) => {
        text += part;
      });
      response.on('error', ({ message }) => say({ error: message, text }));
      response.on('end', () => setImmediate(() => say({ text })));
    });
    sent.on('upgrade', () => say({ text: 'upgraded' }));
    sent.end();
    sent.once('socket', () => connection.push(Buffer.from(bytes, 'latin1')));
  });
}

it('ends a request with too many, and reads few of them', async () => {
  const { interims, error } = await got(interim.repeat(3_000));
  expect(error).toBe(tooMany);
  if (optimized) expect(interims).toBeLessThan(100);
});

it('passes an answer on that follows a few, whole', async () => {
  const body = 'x'.repeat(100_000);
  const answer = `HTTP/1.1 200 OK\r\nX-Long: ${'y'.repeat(5_000)}\r\nContent-Length: 100000\r\n\r\n${body}`;
  expect(await got(`${interim.repeat(5)}${answer}`)).toMatchObject({ interims: 5, text: body });
});

it('closes the connection when more follows a complete answer', async () => {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst';
  for (const headers of [{}, { connection: 'keep-alive' }])
    expect(await got(`${answer}${answer.repeat(100)}`, headers)).toMatchObject({
      text: 'first',
      isDestroyed: true,
    });
});

it('reads nothing after what is not HTTP', async () => {
  for (const before of ['', interim, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'])
    expect((await got(before + 'x'.repeat(10_000))).error).toMatch(/^Parse Error|^aborted/);
});

it('lets an upgrade through', async () => {
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
  expect(await got(`${upgrade}${'z'.repeat(5_000)}`, { Connection: 'Upgrade', Upgrade: 'x' })).toMatchObject({
    text: 'upgraded',
  });
});
