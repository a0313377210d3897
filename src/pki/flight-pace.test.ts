/** Proves that handshakes do not wait for others, until one is costly: then its address waits, and no other. */
import { X509Certificate } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { beforeEach, expect, it } from 'vitest';
import { costlyCertificate, unreadableCertificate } from './costly-key.fixture.ts';
import { FlightPace } from './flight-pace.ts';

const helloBytes = 300;
const here = '10.0.0.1';
const there = '10.0.0.2';

class Connection extends EventEmitter {
  bytesRead = helloBytes;
  isDestroyed = false;

  constructor(readonly remotePort: number) {
    super();
  }

  destroy(): void {
    this.isDestroyed = true;
    this.emit('close');
  }
}

let nowMs: number;
let freed: string[];
let pace: FlightPace;
let ports: number;

beforeEach(() => {
  [nowMs, freed, ports] = [0, [], 0];
  pace = new FlightPace(
    (address) => freed.push(address),
    () => nowMs,
  );
});

function begin(address: string): Connection {
  const connection = new Connection(++ports);
  pace.begin(address, connection as unknown as Socket, helloBytes);
  return connection;
}

/** Sends so many bytes, and breaks off. */
function fail(connection: Connection, bytes: number): void {
  connection.bytesRead += bytes;
  connection.destroy();
}

it('one with a key that cannot be read is costly, and ends nothing else', () => {
  const { remotePort } = begin(here);
  pace.finish(here, remotePort, new X509Certificate(unreadableCertificate));
  expect(pace.waitMs(here)).toBe(10_000);
  expect(freed).toEqual([here]);
});

it('an address may have many that do not get on', () => {
  const open = Array.from({ length: 100 }, () => begin(here));
  nowMs = 60_000;
  expect(pace.waitMs(here)).toBe(0);
  expect(open.some(({ isDestroyed }) => isDestroyed)).toBe(false);
});

it('one that is costly cuts those of its address that are under way, at once', () => {
  const [own, others] = [[1, 2, 3].map(() => begin(here)), begin(there)];
  own[1]!.bytesRead += 5_000;
  pace.fail(here, own[1]!.remotePort);
  expect(own.map(({ isDestroyed }) => isDestroyed)).toEqual([true, false, true]);
  expect(others.isDestroyed).toBe(false);
  expect(pace.waitMs(here)).toBe(10_000);
  // Its end is reported twice, and counts once.
  nowMs = 5_000;
  own[1]!.destroy();
  expect(pace.waitMs(here)).toBe(5_000);
});

it('after one that was costly another that does not get on makes room for the next', () => {
  fail(begin(here), 5_000);
  nowMs = 10_000;
  const next = begin(here);
  expect(pace.waitMs(here)).toBe(2_000);
  nowMs = 12_000;
  expect(pace.waitMs(here)).toBe(0);
  expect(next.isDestroyed).toBe(true);
});

it('a key that takes long makes its address wait, and no other', () => {
  const costly = begin(here);
  pace.finish(here, costly.remotePort, new X509Certificate(costlyCertificate));
  expect(pace.waitMs(here)).toBe(10_000);
  expect(pace.waitMs(there)).toBe(0);
  nowMs = 10_000;
  expect(pace.waitMs(here)).toBe(0);
  const next = begin(here);
  // From then on one at a time.
  expect(pace.waitMs(here)).toBeGreaterThan(0);
  pace.finish(here, next.remotePort, undefined);
  expect(freed).toEqual([here, here]);
  expect(pace.waitMs(here)).toBe(0);
});

it('so do bytes of certificates before a handshake that fails', () => {
  fail(begin(there), 4_000);
  expect(pace.waitMs(there)).toBe(0);
  fail(begin(here), 4_001);
  expect(pace.waitMs(here)).toBe(10_000);
});

it('so do many certificates', () => {
  const chain = (count: number): X509Certificate => {
    const plain = { asymmetricKeyType: 'ed25519' };
    const above = count > 1 ? chain(count - 1) : undefined;
    return { publicKey: plain, issuerCertificate: above } as unknown as X509Certificate;
  };
  pace.finish(here, begin(here).remotePort, chain(9));
  expect(pace.waitMs(here)).toBe(0);
  pace.finish(here, begin(here).remotePort, chain(10));
  expect(pace.waitMs(here)).toBe(10_000);
});

it('what is remembered is bounded', () => {
  for (let i = 0; i <= 1_000; i++) fail(begin(`10.1.${i >> 8}.${i & 255}`), 5_000);
  expect(pace.waitMs('10.1.0.0')).toBe(0);
  expect(pace.waitMs('10.1.0.1')).toBe(10_000);
});
