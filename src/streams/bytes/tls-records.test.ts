/** Proves that pieces which are written together leave a TLS socket in records of their own, and in order. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { Authority, makeAuthority, servingUsages, yearMs } from '../../pki/authority.ts';
import { writeRecordPerPiece } from './tls-records.ts';

const authority = new Authority(makeAuthority('test', Date.now()));
const serving = authority.issue(
  { subject: { commonName: 'server' }, usages: servingUsages, hosts: ['127.0.0.1'], lifeMs: yearMs },
  Date.now(),
);

/** What a client reads at a time: Node's TLS hands on each record by itself. */
async function readsOf(prepare: (socket: TLSSocket) => void): Promise<string[]> {
  const server = createServer(serving, (socket) => {
    prepare(socket);
    socket.cork();
    for (const piece of ['a', 'b', 'c']) socket.write(piece);
    socket.uncork();
    socket.end('d');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({ host: '127.0.0.1', port, ca: authority.pem.cert });
  const reads: string[] = [];
  client.on('data', (chunk) => reads.push(String(chunk)));
  await once(client, 'end');
  client.destroy();
  server.close();
  return reads;
}

it('writes a record per piece', async () => {
  expect(await readsOf(writeRecordPerPiece)).toEqual(['a', 'b', 'c', 'd']);
  // Otherwise this test would prove nothing.
  expect((await readsOf(() => undefined))[0]).toBe('abc');
});
