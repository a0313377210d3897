/** Proves that a long body leaves in turns of the event loop, so that others are answered meanwhile. */
import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { StatusError } from '../../api/errors/errors.ts';
import { answerBytes, answerError } from './answer.ts';
import type { RequestContext } from './context.ts';

const megabyte = 1024 * 1024;

/** A client that takes all that is written, or whose window is full after each write. */
class Client extends EventEmitter {
  readonly destroyed = false;
  readonly writes: Buffer[] = [];
  isEnded = false;

  constructor(private readonly isSlow: boolean) {
    super();
  }

  writeHead(): void {}

  cork(): void {}

  write(bytes: Buffer): boolean {
    this.writes.push(bytes);
    if (this.isSlow) setImmediate(() => this.emit('drain'));
    return !this.isSlow;
  }

  end(bytes?: Buffer): void {
    if (bytes) this.writes.push(bytes);
    this.isEnded = true;
  }
}

it.each([false, true])(
  'a body of many megabytes leaves one megabyte a turn, slow client: %s',
  async (isSlow) => {
    const client = new Client(isSlow);
    let seats = 1;
    const context = {
      response: client,
      request: { headers: {} },
      info: { method: 'GET' },
      warnings: [],
      auditId: '',
      leaveSeat: () => {
        seats = 0;
      },
    } as unknown as RequestContext;
    const parts = [Buffer.from('head'), Buffer.alloc(4 * megabyte, 'x'), Buffer.from('end')];
    let isDone = false;
    const answering = answerBytes(context, 200, parts).finally(() => {
      isDone = true;
    });
    const written = (): number => client.writes.reduce((sum, { length }) => sum + length, 0);
    const counts = [0, written()];
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      counts.push(written());
    }
    await answering;
    expect(Math.max(...counts.slice(1).map((count, i) => count - counts[i]!))).toBeLessThanOrEqual(
      megabyte + 7,
    );
    expect(Buffer.concat(client.writes).equals(Buffer.concat(parts))).toBe(true);
    expect(client.isEnded).toBe(true);
    expect(seats).toBe(isSlow ? 0 : 1);
  },
);

it('a shorter one leaves at once', () => {
  const client = new Client(false);
  const context = { response: client, request: { headers: {} }, info: { method: 'GET' }, warnings: [] };
  void answerBytes(context as unknown as RequestContext, 200, [
    Buffer.alloc(megabyte / 2),
    Buffer.from('end'),
  ]);
  expect(client.isEnded).toBe(true);
});

it('nothing is written to a client that is gone when its request fails', () => {
  const client = Object.assign(new Client(false), { destroyed: true });
  let heads = 0;
  client.writeHead = () => void heads++;
  const context = { response: client, request: { headers: {} }, warnings: [], auditId: '' };
  const error = new StatusError(400, 'BadRequest', 'cut off');
  answerError(context as unknown as RequestContext, error, () => expect.unreachable());
  expect({ heads, writes: client.writes.length, failure: (context as { failure?: object }).failure }).toEqual(
    { heads: 0, writes: 0, failure: error.status },
  );
});
