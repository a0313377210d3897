// Proves that small answers, which are built in the same reused memory, reach their clients intact.
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { guardLines } from '../wire/guard-headers.ts';
import { Departures } from './departures.ts';
import { PlainResponse } from './plain-response.ts';

/** A socket that sends what is written at once, or keeps it until it is released. */
class TestSocket extends Writable {
  readonly #keeps: boolean;
  readonly #kept: { readonly chunk: Buffer; readonly done: () => void }[] = [];
  text = '';

  constructor(keeps: boolean) {
    super();
    this.#keeps = keeps;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.#keeps) this.#kept.push({ chunk, done });
    else {
      this.text += chunk.toString();
      done();
    }
  }

  letGo(): void {
    for (const { chunk, done } of this.#kept.splice(0)) {
      this.text += chunk.toString();
      done();
    }
  }
}

async function answer(socket: TestSocket, body: Buffer | string): Promise<void> {
  const departures = new Departures();
  await new Promise<void>((resolve) => {
    const response = new PlainResponse(socket as unknown as Socket, 5, departures, resolve, guardLines);
    response.writeHead(200, ['Content-Length', String(Buffer.byteLength(body))]).end(body);
  });
}

const bodyOf = ({ text }: TestSocket): string => text.slice(text.indexOf('\r\n\r\n') + 4);

describe('a plain response', () => {
  it('says once what every answer says', async () => {
    const socket = new TestSocket(false);
    await new Promise<void>((resolve) => {
      const response = new PlainResponse(
        socket as unknown as Socket,
        5,
        new Departures(),
        resolve,
        guardLines,
      );
      response.writeHead(200, { 'x-content-type-options': 'nosniff', 'Content-Length': '0' }).end();
    });
    expect(socket.text.match(/x-content-type-options/gi)).toHaveLength(1);
  });

  it('stays as it is while its socket keeps it and others are answered', async () => {
    const slow = new TestSocket(true);
    await answer(slow, 'for the slow one');
    for (const body of ['a', 'b'.repeat(10_000), Buffer.alloc(12_000, 'c')]) {
      const quick = new TestSocket(false);
      await answer(quick, body);
      expect(bodyOf(quick)).toBe(body.toString());
    }
    slow.letGo();
    expect(bodyOf(slow)).toBe('for the slow one');
    expect(slow.text).toMatch(
      /^HTTP\/1\.1 200 OK\r\nContent-Length: 16\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\nDate: /,
    );
  });

  it('is whole whatever its length, as bytes and as text', async () => {
    for (const length of [0, 1, 15_000, 16_000, 16_384, 17_000, 70_000])
      for (const letter of ['x', 'ü', '雪']) {
        const text = letter.repeat(length);
        for (const body of [text, Buffer.from(text)]) {
          const socket = new TestSocket(false);
          await answer(socket, body);
          expect(bodyOf(socket) === text, `${length} ${letter} ${typeof body}`).toBe(true);
        }
      }
  });
});
