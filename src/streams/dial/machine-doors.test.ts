/** Proves that no connection that a user has a say in leads to a door of this machine, however its address is written. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { networkInterfaces, platform } from 'node:os';
import { afterEach, expect, it } from 'vitest';
import { dialDoor, dialTcp } from './dialing.ts';
import { isDoor, markDoor } from './machine-doors.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const refused = { message: 'address not allowed', code: 400 };

/** A server at all addresses of this machine; returns its port. */
async function listening(): Promise<number> {
  const server: Server = createServer((socket) => socket.end());
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

const ownAddresses = Object.values(networkInterfaces()).flatMap((list) =>
  (list ?? []).map(({ address }) => address),
);

it('refuses a port with a door at every address and name of this machine', async () => {
  const port = await listening();
  (await dialTcp(['127.0.0.1'], port)).destroy();
  const unmark = await markDoor(port);
  cleanups.push(unmark);
  const names = ['127.0.0.1', '127.3.2.1', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1', '::ffff:7f00:1'];
  for (const host of [...names, 'localhost', ...ownAddresses])
    await expect(dialTcp([host], port), host).rejects.toMatchObject(refused);
  // One address that is a door refuses all.
  await expect(dialTcp(['192.0.2.1', '127.0.0.1'], port)).rejects.toMatchObject(refused);
  // What leads to the API on purpose still does.
  (await dialDoor(['127.0.0.1'], port)).destroy();
  unmark();
  unmark();
  (await dialTcp(['127.0.0.1'], port)).destroy();
});

it('leaves the same port of other machines alone', async () => {
  const port = await listening();
  cleanups.push(await markDoor(port));
  expect(await isDoor(['192.0.2.1', '2001:db8::1'], port)).toBe(false);
  expect(await isDoor(['192.0.2.1', '::1'], port)).toBe(true);
});

it('counts the doors at a port: one that closes does not uncover another', async () => {
  const port = await listening();
  const first = await markDoor(port);
  cleanups.push(await markDoor(port));
  first();
  await expect(dialTcp(['127.0.0.1'], port)).rejects.toMatchObject(refused);
});

it('does not take one port for another that begins with its digits', async () => {
  cleanups.push(await markDoor(80_80));
  expect(await isDoor(['127.0.0.1'], 80_80)).toBe(true);
  expect(await isDoor(['127.0.0.1'], 808)).toBe(false);
  expect(await isDoor(['127.0.0.1'], 80)).toBe(false);
});

it.skipIf(platform() !== 'linux' /* elsewhere marks are files of this user */)(
  'sees doors of other processes, until these end',
  async () => {
    const port = await listening();
    const program = `
      const name = '\\0wherry/door/${port}/0';
      require('node:net').createServer().listen(name, () => console.log('marked'));`;
    const other = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    cleanups.push(() => other.kill('SIGKILL'));
    await once(other.stdout, 'data');
    await expect(dialTcp(['127.0.0.1'], port)).rejects.toMatchObject(refused);
    other.kill('SIGKILL');
    await once(other, 'exit');
    (await dialTcp(['127.0.0.1'], port)).destroy();
  },
);
