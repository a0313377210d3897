/**
 * Port-forward over the channels of a WebSocket: two for each port, one for data and one for errors. There is
 * one connection to each port, and no half close.
 */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { Inflow, Outflow } from '../bytes/carrier-streams.ts';
import { forwardFailure, type PortForwarding } from '../session/port-forward.ts';
import { type ChannelFraming, ChannelSocket } from './channel-socket.ts';

/** A channel number must fit into a byte, or for base64 into one ASCII character counted from `0`. */
export const portsMax: Record<ChannelFraming, number> = { raw: 128, base64: 40 };

/** Serves an accepted WebSocket until it is closed. */
export async function forwardChannels(
  webSocket: WebSocket,
  framing: ChannelFraming,
  ports: readonly number[],
  forwarding: PortForwarding,
): Promise<void> {
  /** Ports whose target is slow: while there is one, nothing is read from the client (back-pressure). */
  const full = new Set<Inflow>();
  const inflows = ports.map(() => {
    const flow: Inflow = new Inflow(() => {
      if (full.delete(flow) && full.size === 0) socket.resume();
    });
    return flow;
  });
  const socket = new ChannelSocket(webSocket, {
    framing,
    idleMs: forwarding.idleMs,
    onIdle: () => void socket.close(),
    onData: (channel, data) => {
      const flow = channel % 2 === 0 ? inflows[channel / 2] : undefined;
      if (flow === undefined || flow.offer(data)) return;
      full.add(flow);
      socket.pause();
    },
  });
  const stop = () => void socket.close();
  forwarding.ended?.addEventListener('abort', stop);
  if (forwarding.ended?.aborted) stop();
  for (const [i, port] of ports.entries()) {
    const number = Buffer.alloc(2);
    number.writeUInt16LE(port);
    socket.send(2 * i, number);
    socket.send(2 * i + 1, number);
  }
  const all = Promise.all(ports.map((port, i) => forwardPort(socket, i, port, inflows[i]!, forwarding)));
  await Promise.race([all, socket.closed]);
  forwarding.ended?.removeEventListener('abort', stop);
  await socket.close();
}

/** Resolves when the target has ended and all its data was sent to the client. */
async function forwardPort(
  socket: ChannelSocket,
  index: number,
  port: number,
  inflow: Inflow,
  forwarding: PortForwarding,
): Promise<void> {
  let target: Duplex;
  try {
    target = await forwarding.dial(port);
  } catch (error) {
    socket.send(2 * index + 1, Buffer.from(forwardFailure(forwarding, port, error)));
    return void inflow.destroy();
  }
  const outflow = new Outflow((chunk, onRoom) => socket.send(2 * index, chunk, onRoom));
  void socket.closed.then(() => target.destroy());
  // A connection that breaks later counts as ended.
  target.on('error', () => undefined);
  inflow.pipe(target);
  target.pipe(outflow, { end: false });
  await new Promise<void>((resolve) => {
    if (target.closed) resolve();
    target.once('end', resolve);
    target.once('close', resolve);
  });
  inflow.destroy();
  await outflow.flush();
  target.destroy();
}
