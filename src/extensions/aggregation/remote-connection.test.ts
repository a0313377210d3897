/** Proves whom a connection to the server of a remote version trusts by its `caBundle`: who signed, by key and not by name. */
import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Authority, makeAuthority, servingUsages } from '../../pki/authority.ts';
import { connectRemote } from './remote-connection.ts';

const now = Date.now();
const [signer, stranger] = [1, 2].map(() => new Authority(makeAuthority('things', now)));
const serving = signer!.issue(
  { subject: { commonName: 'things' }, usages: servingUsages, hosts: ['things.team.svc'], lifeMs: 3_600_000 },
  now,
);
const server = createServer(serving, (socket) => socket.end('hello')).on('tlsClientError', () => undefined);

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

const open = (authority: Authority) =>
  connectRemote(
    {
      name: 'v1.things.example.com',
      group: 'things.example.com',
      version: 'v1',
      apiVersion: 'things.example.com/v1',
      service: { namespace: 'team', name: 'things', port: 443 },
      caBundle: Buffer.from(authority.pem.cert).toString('base64'),
      insecure: false,
      available: true,
      priority: { group: 1, version: 1 },
    },
    async () => connect((server.address() as AddressInfo).port, '127.0.0.1'),
    undefined,
  );

it('trusts a server whose certificate has the same subject as its authority', async () => {
  const chunks: Buffer[] = [];
  for await (const chunk of await open(signer!)) chunks.push(chunk as Buffer);
  expect(Buffer.concat(chunks).toString()).toBe('hello');
});

it('trusts no server that another authority of that name signed', async () => {
  await expect(open(stranger!)).rejects.toThrow('certificate signed by unknown authority');
});
