/** Proves that requests of this process reach the chain as those of connections do, and how they are answered. */
import { describe, expect, it } from 'vitest';
import { optimized } from '../../switches.ts';
import type { ApiRequest, ApiResponse } from '../http/context.ts';
import type { Door, Reception } from '../http/door.ts';
import { Arrivals } from '../lane/arrivals.ts';
import { PlainRequest } from '../wire/plain-request.ts';
import { OwnRequests } from './own-requests.ts';

const door = {} as Door;
const headers = Object.freeze({ host: '127.0.0.1:1', accept: 'application/json' });
const pods = '/api/v1/namespaces/default/pods';

/** What a server answers to each request. */
function served(answer: (request: ApiRequest, response: ApiResponse) => void, forwarded?: string) {
  const seen: { door: Door; request: ApiRequest }[] = [];
  const reception = {
    isForwarded: (url: string) => url === forwarded,
    request: (by: Door, request: ApiRequest, response: ApiResponse) => {
      seen.push({ door: by, request });
      answer(request, response);
    },
  } as unknown as Reception;
  return { seen, own: new OwnRequests(door, reception, new Arrivals(), '127.0.0.1') };
}

describe.skipIf(!optimized)('a request of this process', () => {
  it('is one of the door, with address, headers and body', async () => {
    const { own, seen } = served((_, response) => {
      response.writeHead(201, { 'Content-Type': 'application/json' });
      response.end(Buffer.from('{"é":1}'));
    });
    const body = Buffer.from('{}');
    expect(await own.send('POST', pods, headers, body)).toEqual({ code: 201, text: '{"é":1}' });
    const [{ door: by, request }] = seen as [{ door: Door; request: ApiRequest }];
    expect(by).toBe(door);
    expect(request).toBeInstanceOf(PlainRequest);
    expect(request).toMatchObject({ method: 'POST', url: pods, headers, body });
    expect(request.socket.remoteAddress).toBe('127.0.0.1');
  });

  it('gets an answer of several parts as a whole, also one without a body', async () => {
    const { own } = served(({ method }, response) => {
      response.writeHead(200, {});
      if (method === 'GET') {
        response.write('{"a":');
        response.write(Buffer.from('"ü"}'));
      }
      response.end();
      response.end('more');
    });
    expect(await own.send('GET', pods, headers)).toEqual({ code: 200, text: '{"a":"ü"}' });
    expect(await own.send('DELETE', `${pods}/p`, headers)).toEqual({ code: 200, text: '' });
  });

  it('fails when its answer is broken off, and its handler hears that it is over', async () => {
    let closed = 0;
    const { own } = served((_, response) => {
      response.on('close', () => closed++);
      response.destroy();
      response.end('late');
    });
    await expect(own.send('GET', pods, headers)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(closed).toBe(1);
  });

  it('comes by a connection if it lasts, is long, or is for another server', () => {
    const { own, seen } = served(() => undefined, '/apis/other/v1/things');
    expect(own.send('GET', `${pods}?watch=true`, headers)).toBeUndefined();
    expect(own.send('GET', `${pods}/p/log?follow=true`, headers)).toBeUndefined();
    expect(own.send('POST', pods, headers, Buffer.alloc(256 * 1024 + 1))).toBeUndefined();
    expect(own.send('GET', '/apis/other/v1/things', headers)).toBeUndefined();
    expect(seen).toEqual([]);
  });
});

it.skipIf(optimized)('without optimisations every request comes by a connection', () => {
  expect(served(() => undefined).own.send('GET', pods, headers)).toBeUndefined();
});
