/** A TCP server for pods, on a free port, and its commands. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Container } from '../../src/api/generated/types.ts';
import type { ClusterAccess } from './running.ts';
import { program } from './running.ts';

/**
 * The client's first line is a command: `echo` sends the input back, `sum` sends its SHA-256 after its end,
 * `zeros N` sends N zeros, `cut` resets the connection.
 */
const source = `
  const server = require('node:net').createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined).once('readable', () => {
      let line = '';
      for (let byte; !line.endsWith('\\n'); line += byte) {
        byte = socket.read(1)?.toString();
        if (byte === undefined) return socket.destroy();
      }
      const [wish, count] = line.trim().split(' ');
      if (wish === 'echo') socket.pipe(socket);
      if (wish === 'cut') socket.resetAndDestroy();
      if (wish === 'zeros') {
        socket.resume();
        let left = Number(count);
        require('node:stream').Readable.from((function* () {
          for (; left > 0; left -= 65536) yield Buffer.alloc(Math.min(left, 65536));
        })()).pipe(socket);
      }
      if (wish === 'sum') {
        const hash = require('node:crypto').createHash('sha256');
        socket.on('data', (chunk) => hash.update(chunk)).on('end', () => socket.end(hash.digest('hex')));
      }
    });
  });
  server.listen(0, () => console.log('port ' + server.address().port));
`;

export const portServer = (more: Partial<Container> = {}): Container => program(source, [], more);

/** The server's port, from the pod's log. */
export async function portOf(cluster: ClusterAccess, pod: string): Promise<number> {
  const follower = cluster.command('logs', '-f', pod);
  const [, port] = await follower.until(/^port (\d+)\n/m);
  await follower.end();
  return Number(port);
}

/** A port without a listener, which the system gave out a moment ago. */
export async function unusedPort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
