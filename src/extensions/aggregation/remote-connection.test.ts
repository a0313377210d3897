/**
 * Proves whom a connection to the server of a remote version trusts by its `caBundle`: who signed, by key and not by name;
 * and that many connections are opened in turns.
 */
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Authority, makeAuthority, servingUsages } from '../../pki/authority.ts';
import { connectRemote, contextOf } from './remote-connection.ts';

const now = Date.now();
const [signer, stranger] = [1, 2].map(() => new Authority(makeAuthority('things', now)));
const serving = signer!.issue(
  { subject: { commonName: 'things' }, usages: servingUsages, hosts: ['things.team.svc'], lifeMs: 3_600_000 },
  now,
);
const server = createServer(serving, (socket) => socket.end('hello')).on('tlsClientError', () => undefined);

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

const dial = async () => connect((server.address() as AddressInfo).port, '127.0.0.1');
const open = (authority: Authority, dialled = dial) =>
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
    dialled,
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

it('dials a few servers in each turn of the event loop', async () => {
  let [dials, most] = [0, 0];
  const failed = Array.from({ length: 40 }, () =>
    open(signer!, () => {
      dials++;
      return Promise.reject(new Error('refused'));
    }).catch((error: Error) => error.message),
  );
  while (dials < failed.length) {
    const before = dials;
    await nextTurn();
    most = Math.max(most, dials - before);
  }
  // What a turn of the queue begins can fall on both sides of the turn that counts.
  expect(most).toBeLessThanOrEqual(4);
  expect(new Set(await Promise.all(failed))).toEqual(new Set(['refused']));
});

it('reads certificates once', () => {
  const bundles = [signer!, stranger!].map(({ pem }) => Buffer.from(pem.cert).toString('base64'));
  const [one, other] = bundles.map((bundle) => contextOf(bundle, undefined));
  expect(contextOf(bundles[0]!, undefined)).toBe(one);
  expect(one).not.toBe(other);
  expect(contextOf(bundles[0]!, serving)).not.toBe(one);
  // A server whose certificates are forgotten is connected to as before.
  for (let i = 0; i < 64; i++) contextOf('', { ...serving, key: `${serving.key}${'\n'.repeat(i)}` });
  expect(contextOf(bundles[0]!, undefined)).not.toBe(one);
});
