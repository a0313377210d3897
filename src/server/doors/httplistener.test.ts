/** Proves that a head which arrives drop by drop is cut off soon after its time is over. */
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from 'vitest';
import type { Limits } from '../http/limits.ts';
import { listenerOptions } from './httplistener.ts';

it('a dripped head is refused within a second of its time, not within thirty', async () => {
  const server = createServer({
    ...listenerOptions({ headerBytesMax: 1_000 } as Limits),
    headersTimeout: 50,
  });
  const refused = new Promise<string | undefined>((resolve) =>
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      resolve(error.code);
      socket.destroy();
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\n');
  const drip = setInterval(() => socket.write('A: b\r\n'), 10);
  expect(await refused).toBe('ERR_HTTP_REQUEST_TIMEOUT');
  clearInterval(drip);
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});
