/** Proves that a server recognises its own doors, however they are called. */
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { View } from '../../registry/view/view.ts';
import type { Door } from './door.ts';
import { OwnDoors } from './own-doors.ts';

const kubernetes = {
  spec: {
    clusterIP: '10.96.0.1',
    clusterIPs: ['10.96.0.1', 'fd00::1'],
    ports: [{ port: 443, nodePort: 30_443 }],
  },
};
const slice = { endpoints: [{ addresses: ['198.51.100.7', '10.0.0.1'] }], ports: [{ port: 6443 }] };
const view = {
  collection: (id: string) => ({
    get: () => ({ peek: () => (id === 'core/services' ? kubernetes : slice) }),
  }),
} as unknown as View;
const doorsAt = (...urls: string[]): OwnDoors =>
  new OwnDoors(
    urls.map((url) => ({ url }) as Door),
    view,
  );
const machine = Object.values(networkInterfaces()).flatMap((list) =>
  (list ?? []).map(({ address }) => address),
);

describe('a door', () => {
  it.each([
    ['http://127.0.0.1:8080', '127.0.0.1', 8080, true],
    ['http://127.0.0.1:8080', '::ffff:127.0.0.1', 8080, true],
    ['http://127.0.0.1:8080', '::ffff:7f00:1', 8080, true],
    ['http://127.0.0.1:8080', '127.0.0.1', 8081, false],
    ['http://127.0.0.1:8080', '127.0.0.2', 8080, false],
    ['http://127.0.0.1:8080', '10.0.0.1', 8080, false],
    ['https://[::1]:6443', '::1', 6443, true],
    ['https://[::1]:6443', '0:0:0:0:0:0:0:1', 6443, true],
    ['https://10.0.0.1', '10.0.0.1', 443, true],
    ['http://10.0.0.1', '10.0.0.1', 80, true],
    ['https://0.0.0.0:6443', '127.0.0.1', 6443, true],
    ['https://0.0.0.0:6443', '127.9.9.9', 6443, true],
    ['https://0.0.0.0:6443', '0.0.0.0', 6443, true],
    ['https://0.0.0.0:6443', '192.0.2.1', 6443, false],
    ['https://0.0.0.0:6443', '::1', 6443, false],
    ['https://[::]:6443', '::1', 6443, true],
    ['https://[::]:6443', '127.0.0.1', 6443, true],
    // The door in memory.
    ['http://localhost', '127.0.0.1', 80, false],
  ])('%s is at %s port %i: %s', (url, address, port, expected) => {
    expect(doorsAt(url).has(address, port)).toBe(expected);
  });

  it('on all addresses is at each of the machine', () => {
    const doors = doorsAt('https://[::]:6443');
    for (const address of machine) expect([address, doors.has(address, 6443)]).toEqual([address, true]);
    expect(doorsAt('https://[::]:6443').has(machine[0]!, 6444)).toBe(false);
  });

  it('is at the service kubernetes, too', () => {
    const doors = doorsAt('https://10.0.0.1:6443');
    for (const [address, port] of [
      ['10.96.0.1', 443],
      ['fd00::1', 443],
      ['127.0.0.1', 30_443],
    ] as const)
      expect([address, doors.has(address, port)]).toEqual([address, true]);
    expect([doors.has('10.96.0.2', 443), doors.has('192.0.2.1', 30_443)]).toEqual([false, false]);
  });

  it('is where others find the servers of the cluster', () => {
    const doors = doorsAt('https://127.0.0.1:6443');
    const found = [6443, 6444].map((port) => ['198.51.100.7', '10.0.0.1'].map((ip) => doors.has(ip, port)));
    expect(found).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it('is refused when any address is one', () => {
    const doors = doorsAt('https://10.0.0.1:6443');
    expect(() => doors.refuse(['192.0.2.1', '10.0.0.1'], 6443)).toThrow('address not allowed');
    expect(doors.refuse(['192.0.2.1'], 6443)).toBeUndefined();
  });
});
