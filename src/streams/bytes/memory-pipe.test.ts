/** Proves that a memory pipe carries bytes, back-pressure, half closes and breaks, and serves HTTP. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, createServer as createListener, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { memoryPipe } from './memory-pipe.ts';
import { standstill } from './standstill.fixture.ts';

async function readAll(stream: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('a memory pipe', () => {
  it('carries both directions, each with its own end', async () => {
    const [a, b] = memoryPipe();
    a.end('to b');
    expect(await readAll(b)).toBe('to b');
    b.write('still ');
    b.end('open');
    expect(await readAll(a)).toBe('still open');
  });

  it('makes a writer wait for a slow reader, and loses nothing', async () => {
    const [a, b] = memoryPipe();
    const block = Buffer.alloc(64 * 1024, 'x');
    let written = 0;
    while (a.write(block)) written++;
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toBeLessThan(8);
    let seen = 0;
    b.on('data', (chunk: Buffer) => {
      seen += chunk.length;
    });
    await once(a, 'drain');
    for (let i = 0; i < 100; i++) if (!a.write(block)) await once(a, 'drain');
    a.end();
    await once(b, 'end');
    expect(seen).toBe((written + 1 + 100) * block.length);
  });

  it('breaks the other side when it is destroyed unfinished', async () => {
    const [a, b] = memoryPipe();
    const failed = once(b, 'error');
    b.resume();
    a.destroy();
    expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' });
    expect(b.destroyed).toBe(true);
  });

  it('keeps what was written for a reader that comes after the writer has left', async () => {
    const [a, b] = memoryPipe();
    a.end('last words');
    await once(a, 'finish');
    a.destroy();
    expect(await readAll(b)).toBe('last words');
    const failed = once(b, 'error');
    b.write('too late');
    expect((await failed)[0]).toMatchObject({ code: 'EPIPE' });
  });

  describe('with a socket in the place of one side', () => {
    /** The far side of the pipe, and the other end of the socket. */
    async function carried(): Promise<{ far: Duplex; client: Socket; carrying: Socket }> {
      const listener = createListener({ allowHalfOpen: true }).listen(0, '127.0.0.1');
      await once(listener, 'listening');
      const client = connect({ port: (listener.address() as AddressInfo).port, allowHalfOpen: true });
      const [carrying] = (await once(listener, 'connection')) as [Socket];
      listener.close();
      const [near, far] = memoryPipe();
      far.write('before ');
      await new Promise((resolve) => setImmediate(resolve));
      carrying.on('end', () => near.end());
      near.on('end', () => carrying.end());
      near.carry(carrying);
      return { far, client, carrying };
    }

    it('carries what came before and after, and both ends', async () => {
      const { far, client } = await carried();
      far.end('after');
      expect(await readAll(client)).toBe('before after');
      client.end('answer');
      expect(await readAll(far)).toBe('answer');
    });

    it('makes the one side wait for the other, and loses nothing', async () => {
      const { far, client, carrying } = await carried();
      const block = Buffer.alloc(64 * 1024, 'x');
      for (const [from, to] of [
        [far, client],
        [client, far],
      ] as const) {
        to.pause();
        let written = 0;
        while (written < 1000 && from.write(block)) written++;
        const waiting = await standstill(() => carrying.writableLength + far.readableLength);
        expect(waiting).toBeLessThan(2 << 20);
        let seen = 0;
        const done = new Promise<void>((resolve) => {
          to.on('data', (chunk: Buffer) => {
            seen += chunk.length;
            if (chunk.includes('end')) resolve();
          });
        });
        to.resume();
        for (let i = 0; i < 200; i++) if (!from.write(block)) await once(from, 'drain');
        from.write('end');
        await done;
        const early = from === far ? 'before '.length : 0;
        expect(seen).toBe((written + 1 + 200) * block.length + 'end'.length + early);
        to.removeAllListeners('data');
      }
      client.destroy();
      far.destroy();
    });
  });

  it('is a connection for HTTP, upgrades included', async () => {
    const server = createServer((incoming, response) => {
      incoming.pipe(response);
    });
    server.on('upgrade', (_incoming, socket, head) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
      socket.write(head);
      socket.pipe(socket);
    });
    const dial = () => {
      const [client, served] = memoryPipe();
      server.emit('connection', served);
      return client;
    };
    const sent = request({ createConnection: dial, method: 'POST', path: '/' });
    const answered = once(sent, 'response');
    sent.end('hello');
    expect(await readAll((await answered)[0])).toBe('hello');
    const upgrading = request({
      createConnection: dial,
      headers: { Connection: 'Upgrade', Upgrade: 'echo' },
    });
    const upgraded = once(upgrading, 'upgrade');
    upgrading.end();
    const [, socket] = (await upgraded) as [unknown, Duplex];
    socket.end('raw');
    expect(await readAll(socket)).toBe('raw');
  });
});
