/** Proves that a browser's token is read from its subprotocols, and removed from the request. */
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { takeBearerProtocol } from './bearer-protocol.ts';

const prefix = 'base64url.bearer.authorization.k8s.io.';
const token = `${prefix}${Buffer.from('my token').toString('base64url')}`;

const request = (...lines: string[]): IncomingMessage =>
  ({
    headers: lines.length ? { 'sec-websocket-protocol': lines.join(', ') } : {},
    rawHeaders: ['Host', 'h', ...lines.flatMap((line) => ['Sec-WebSocket-Protocol', line])],
  }) as unknown as IncomingMessage;

describe('a token among subprotocols', () => {
  it.each([
    [[`${token}, v5.channel.k8s.io`], ['v5.channel.k8s.io']],
    [[`a, ${token} ,b`], ['a,b']],
    [[token, 'v4.channel.k8s.io'], ['v4.channel.k8s.io']],
  ])('is taken out of %j', (lines, left) => {
    const taken = request(...lines);
    expect(takeBearerProtocol(taken)).toBe('my token');
    expect(taken.rawHeaders.filter((_, i) => i > 1 && i % 2)).toEqual(left);
    expect(JSON.stringify(taken)).not.toContain(prefix);
  });

  it.each([
    ['twice', `${token}, ${token}, v4`],
    ['in a bad encoding', `${prefix}@@@, v4`],
    ['with padding', `${prefix}YQ==, v4`],
    ['empty', `${prefix}, v4`],
    ['that is no text', `${prefix}${Buffer.from([0xff]).toString('base64url')}, v4`],
    ['alone', token],
  ])('%s is refused', (_what, line) => {
    expect(() => takeBearerProtocol(request(line))).toThrow(
      expect.objectContaining({ code: 401, reason: 'Unauthorized' }),
    );
  });

  it('is not looked for where there is none', () => {
    const plain = request('v4.channel.k8s.io');
    expect(takeBearerProtocol(plain)).toBeUndefined();
    expect(plain.headers['sec-websocket-protocol']).toBe('v4.channel.k8s.io');
    expect(takeBearerProtocol(request())).toBeUndefined();
  });
});
