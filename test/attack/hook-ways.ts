/** Ways in which a server that is asked over HTTPS can misbehave, whatever it is asked about. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HookBehaviour } from '../../src/extensions/calls/hook-host.fixture.ts';

const megabyte = Buffer.alloc(1024 * 1024, ' ');

/** Writes the same bytes until nobody reads them, no faster than they are read. */
function forever(
  to: { write(bytes: Buffer): boolean; on(event: string, listener: () => void): unknown; destroyed: boolean },
  bytes: Buffer,
): void {
  const more = (): void => {
    while (!to.destroyed && to.write(bytes));
  };
  to.on('drain', more);
  more();
}

const raw =
  (text: string): HookBehaviour['answer'] =>
  (_request, response) =>
    void response.socket!.end(text);

/** Much like others; left out in a test run. */
const alike = new Set([
  'redirect that keeps the body',
  'permanent redirect',
  'an endless body',
  'endless continues',
  'deep objects',
]);

/** @param canary where a redirect leads; nothing may come there */
export const hookWays = (canary: string, isShort: boolean): Readonly<Record<string, HookBehaviour>> =>
  Object.fromEntries(Object.entries(allWays(canary)).filter(([way]) => !isShort || !alike.has(way)));

const allWays = (canary: string): Readonly<Record<string, HookBehaviour>> => ({
  hang: { answer: () => undefined },
  redirect: { httpStatus: 302, headers: { Location: canary } },
  'redirect that keeps the body': { httpStatus: 307, headers: { Location: canary } },
  'permanent redirect': { httpStatus: 308, headers: { Location: canary } },
  'a gigabyte': {
    answer: (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 1024 ** 3 });
      forever(response, megabyte);
    },
  },
  'an endless body': {
    answer: (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      forever(response, megabyte);
    },
  },
  'an endless head': {
    answer: (_request, response) => {
      const { socket } = response;
      socket!.write('HTTP/1.1 200 OK\r\n');
      forever(socket!, Buffer.from('X: y\r\n'.repeat(1_000)));
    },
  },
  'endless early hints': {
    answer: (_request, response) =>
      forever(response.socket!, Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000))),
  },
  'endless continues': {
    answer: (_request, response) =>
      forever(response.socket!, Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000))),
  },
  'a byte now and then': {
    answer: (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(timer));
    },
  },
  'half an answer': { answer: raw('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"kind":') },
  'another protocol': {
    answer: raw('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  },
  'deep lists': { raw: '['.repeat(2_000_000) },
  'deep objects': { raw: '{"a":'.repeat(400_000) },
  'no JSON': { raw: 'no JSON' },
  nothing: { raw: '' },
  'a list': { raw: '[]' },
  'another kind': { raw: '{"kind":"Pod","apiVersion":"v1"}' },
  'a prototype': { raw: '{"__proto__":{"response":{"allowed":true}},"constructor":{"prototype":{}}}' },
});

/** A server to which no request should come. */
export class Canary {
  hits = 0;
  readonly #server = createServer((_request, response) => {
    this.hits++;
    response.end('{}');
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/stolen`;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
