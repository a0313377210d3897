/** Proves what becomes of heads of answers: guard headers are in each once, whatever a proxied target says of them. */
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { GuardedResponse, guardedHead, guardLines } from './guard-headers.ts';

describe('the head of an answer on a bare socket', () => {
  const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n';
  const guarded = `HTTP/1.1 101 Switching Protocols\r\n${guardLines}Upgrade: x\r\n\r\n`;

  it('gets the lines behind its status line, as text and as bytes, and keeps what follows', () => {
    expect(guardedHead(head).toString()).toBe(guarded);
    const bytes = Buffer.concat([Buffer.from(head), Buffer.from([0, 0xff, 0x0d, 0x0a])]);
    expect(guardedHead(bytes)).toEqual(
      Buffer.concat([Buffer.from(guarded), Buffer.from([0, 0xff, 0x0d, 0x0a])]),
    );
    expect(guardedHead('HTTP/1.1 200 OK\r\n\r\n').toString()).toBe(`HTTP/1.1 200 OK\r\n${guardLines}\r\n`);
  });

  it('has them once', () => {
    const said = head.replace('Upgrade', 'cross-origin-resource-policy: cross-origin\r\nUpgrade');
    expect(guardedHead(said).toString()).toBe(guarded);
  });

  it('is left alone when it is not whole', () => {
    expect(guardedHead('HTTP/1.1 101 Swit').toString()).toBe('HTTP/1.1 101 Swit');
  });
});

describe("a response of Node's server", () => {
  it.each<[string, (response: GuardedResponse) => void]>([
    ['a list', (response) => void response.writeHead(200, ['A', 'b', 'x-content-type-options', 'c']).end()],
    ['fields', (response) => void response.writeHead(200, 'Fine', { A: 'b' }).end()],
    ['nothing', (response) => void response.setHeader('A', 'b').end()],
  ])('has them, whether the handler says %s', async (_what, handle) => {
    const server = createServer({ ServerResponse: GuardedResponse }, (_, response) => handle(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const answer = await new Promise<IncomingMessage>((resolve) => get({ port, agent: false }, resolve));
    answer.resume();
    expect(answer.headers).toMatchObject({
      a: 'b',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    });
    await new Promise((resolve) => server.close(resolve));
  });
});
