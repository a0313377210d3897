/** A session over a WebSocket: the streams of each channel, close signals, and the end. */
import type { WebSocket } from 'ws';
import { Inflow, Outflow } from '../bytes/carrier-streams.ts';
import { type CarriedSession, LiveSession } from '../session/live-session.ts';
import { ResizeReader } from '../session/resize-reader.ts';
import { statusBytes } from '../session/session-status.ts';
import { type ChannelFraming, ChannelSocket } from './channel-socket.ts';

/** What a subprotocol supports. Only v5 can signal the end of input while the output continues. */
interface Subprotocol {
  readonly framing: ChannelFraming;
  readonly statusObject: boolean;
  readonly closeSignals: boolean;
}

export const sessionSubprotocols: ReadonlyMap<string, Subprotocol> = new Map([
  ['', { framing: 'raw', statusObject: false, closeSignals: false }],
  ['channel.k8s.io', { framing: 'raw', statusObject: false, closeSignals: false }],
  ['base64.channel.k8s.io', { framing: 'base64', statusObject: false, closeSignals: false }],
  ['v4.channel.k8s.io', { framing: 'raw', statusObject: true, closeSignals: false }],
  ['v4.base64.channel.k8s.io', { framing: 'base64', statusObject: true, closeSignals: false }],
  ['v5.channel.k8s.io', { framing: 'raw', statusObject: true, closeSignals: true }],
]);

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
const channelMax = 4;
const closeSignal = 255;

/** Serves a session on an accepted WebSocket, until it is closed. */
export async function serveWebSocketSession(
  webSocket: WebSocket,
  protocol: string,
  { wish, handler, idleMs, status, ended }: CarriedSession,
): Promise<void> {
  const { framing, statusObject, closeSignals } = sessionSubprotocols.get(protocol)!;
  const output = (channel: number) => new Outflow((chunk, onRoom) => socket.send(channel, chunk, onRoom));
  const session = new LiveSession({
    tty: wish.tty,
    stdin: wish.stdin ? new Inflow(() => socket.resume()) : undefined,
    stdout: wish.stdout ? output(channels.stdout) : undefined,
    stderr: wish.stderr ? output(channels.stderr) : undefined,
  });
  const sizes = new ResizeReader();
  const onData = (channel: number, data: Buffer) => {
    if (channel === closeSignal && closeSignals) {
      if (data.length !== 1 || data[0]! > channelMax) session.giveUp('bad close signal');
      else if (data[0] === channels.stdin) session.stdin?.finish();
    } else if (channel === channels.stdin) {
      if (session.stdin?.offer(data) === false) socket.pause();
    } else if (channel === channels.resize && wish.tty) {
      for (const size of sizes.read(data)) session.resized(size);
    }
  };
  const socket = new ChannelSocket(webSocket, {
    framing,
    idleMs,
    onData,
    onIdle: () => session.giveUp('the session was idle for too long'),
  });
  void socket.closed.then(() => session.leave());
  // Clients take the first message as the sign that they are connected.
  socket.send(
    wish.stdout ? channels.stdout : wish.stderr ? channels.stderr : channels.error,
    Buffer.alloc(0),
  );

  const result = await session.run(handler, ended);
  if (result !== undefined) {
    const bytes = statusBytes(status(result), statusObject);
    if (bytes.length > 0) socket.send(channels.error, bytes);
    await socket.close();
  }
  await socket.closed;
}
