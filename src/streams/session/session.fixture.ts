/** For tests of sessions: a server, and a WebSocket client. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { server, serveUpgrades, type UpgradeServer } from '../dial/upgrade-server.fixture.ts';
import { type SessionServing, serveSession } from '../serving/session-server.ts';
import type { SessionHandler, SessionResult, SessionWish } from './session.ts';

export const success: SessionResult = { kind: 'success' };
const all: SessionWish = { stdin: true, stdout: true, stderr: true, tty: false };
export const rawProtocols = ['', 'channel.k8s.io', 'v4.channel.k8s.io', 'v5.channel.k8s.io'];
export const textProtocols = ['base64.channel.k8s.io', 'v4.base64.channel.k8s.io'];

export const serve = (
  handler: SessionHandler,
  serving: Partial<SessionServing> = {},
): Promise<UpgradeServer> =>
  serveUpgrades((request, socket, head) =>
    serveSession(request, socket, head, { kind: 'exec', wish: all, handler, ...serving }),
  );

/** A client that records every message, with its kind. */
export class Client {
  readonly messages: { data: Buffer; binary: boolean }[] = [];
  readonly closed: Promise<number>;
  readonly socket: WebSocket;

  constructor(protocol: string) {
    this.socket = new WebSocket(server!.url(), protocol ? [protocol] : []);
    this.socket.on('message', (data: Buffer, binary) => this.messages.push({ data, binary }));
    this.closed = once(this.socket, 'close').then(([code]) => code as number);
  }

  get hex(): string[] {
    return this.messages.map(({ data }) => data.toString('hex'));
  }

  /** The data received on a channel. */
  channel(number: number): string {
    const base64 = textProtocols.includes(this.socket.protocol);
    return this.messages
      .filter(({ data }) => data[0] === (base64 ? 0x30 + number : number))
      .map(({ data }) => (base64 ? Buffer.from(data.toString('latin1', 1), 'base64') : data.subarray(1)))
      .join('');
  }
}

export async function dial(protocol: string): Promise<Client> {
  const client = new Client(protocol);
  await once(client.socket, 'open');
  return client;
}

export const echo: SessionHandler = async ({ stdin, stdout }) => {
  for await (const chunk of stdin!) stdout!.write(chunk);
  return success;
};

/** A command that continues when its client has gone, and records what it received. */
export class Survivor {
  got = '';
  /** Whether it ended. */
  left = false;

  readonly handler: SessionHandler = async ({ stdin, stdout, gone }) => {
    const abandoned = once(gone, 'abort');
    for await (const chunk of stdin!) this.got += chunk;
    await abandoned;
    stdout!.write('to nobody');
    this.left = true;
    throw new Error('nobody hears this');
  };
}
