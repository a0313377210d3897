/** For tests of port-forward: targets in a pod, a server that forwards to them, and a WebSocket client. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { server, serveUpgrades, type UpgradeServer } from '../dial/upgrade-server.fixture.ts';
import { type PortForwardServing, servePortForward } from '../serving/port-forward-server.ts';

const tunnelName = 'SPDY/3.1+portforward.k8s.io';
export const refused = 'dial tcp 127.0.0.1:1: connect: connection refused';

/** The forwarder's end of its connections to targets. */
export const dialled = new Set<Socket>();

/** A TCP server in the pod; port 1 refuses connections. */
export async function target(serve: (socket: Socket) => void): Promise<number> {
  const accepted = new Set<Socket>();
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => accepted.delete(socket));
    serve(socket);
  });
  onTestFinished(() => {
    for (const socket of [...accepted, ...dialled]) socket.destroy();
    listener.close();
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return (listener.address() as AddressInfo).port;
}

async function dial(port: number): Promise<Socket> {
  if (port === 1) throw new Error(refused);
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  dialled.add(socket);
  socket.once('close', () => dialled.delete(socket));
  await once(socket, 'connect');
  return socket;
}

export const serve = (serving: Partial<PortForwardServing> = {}): Promise<UpgradeServer> =>
  serveUpgrades((request, socket, head) =>
    servePortForward(request, socket, head, { ports: [], dial, podText: 'pod web, uid 7', ...serving }),
  );

/** A WebSocket with SPDY inside. The `ws` package refuses this subprotocol's name, so it is negotiated by hand. */
export async function dialTunnel(): Promise<WebSocket> {
  const webSocket = new WebSocket(server!.url(), { headers: { 'Sec-WebSocket-Protocol': tunnelName } });
  webSocket.on('upgrade', ({ headers }) => {
    expect(headers['sec-websocket-protocol']).toBe(tunnelName);
    delete headers['sec-websocket-protocol'];
  });
  await once(webSocket, 'open');
  return webSocket;
}

export const echo = (socket: Socket) => void socket.pipe(socket);
