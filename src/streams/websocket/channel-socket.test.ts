/** Channels over a WebSocket, as sessions use them: a slow client, and an idle one. */
import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { standstill } from '../bytes/standstill.fixture.ts';
import { dial, serve, success } from '../session/session.fixture.ts';

describe('session over WebSocket', () => {
  it('stops a command whose client does not read, and loses nothing', async () => {
    // Proves back-pressure to the command: little is taken from it until the client reads, and then
    // everything arrives.
    const total = 24 * 1024 * 1024;
    let written = 0;
    await serve(async ({ stdout }) => {
      while (written < total) {
        const chunk = Buffer.alloc(64 * 1024, written / 65536);
        written += chunk.length;
        if (!stdout!.write(chunk)) await once(stdout!, 'drain');
      }
      return success;
    });
    const client = await dial('v5.channel.k8s.io');
    client.socket.pause();
    expect(await standstill(() => written)).toBeLessThan(total);
    client.socket.resume();
    expect(await client.closed).toBe(1000);
    const out = Buffer.concat(
      client.messages.filter(({ data }) => data[0] === 1).map(({ data }) => data.subarray(1)),
    );
    expect(out.length).toBe(total);
    for (let i = 0; i < total; i += 65536) if (out[i] !== (i / 65536) % 256) expect.fail(`byte ${i}`);
    expect(Math.max(...client.messages.map(({ data }) => data.length))).toBeLessThanOrEqual(32 * 1024);
  });

  it('ends idle sessions with a failure', async () => {
    // Proves the idle timeout, that pings count as traffic, and that the client gets the reason.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    await serve(({ gone }) => once(gone, 'abort').then(() => success), { idleMs: 300 });
    const client = await dial('v4.channel.k8s.io');
    for (let i = 0; i < 4; i++) {
      vi.advanceTimersByTime(200);
      client.socket.ping();
      await once(client.socket, 'pong');
    }
    expect(client.hex).toEqual(['01']);
    vi.advanceTimersByTime(400);
    expect(await client.closed).toBe(1000);
    expect(JSON.parse(client.channel(3)).message).toMatch(/idle/);
  });
});
