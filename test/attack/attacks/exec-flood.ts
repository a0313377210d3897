/** A tenant who starts programs in a pod as fast as it can, some of which stay, and leaves them. */
import { readdirSync, readFileSync } from 'node:fs';
import type { TLSSocket } from 'node:tls';
import { type Attack, codesText } from '../attack.ts';
import { pods, runPod, until } from '../pods.ts';

/** An argument by which the programs are found among all processes. */
const mark = 'attack-exec-flood';

/** How many programs run. */
const running = (): number =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark);
    } catch {
      return false;
    }
  }).length;

export const attack: Attack = {
  name: 'a flood of exec',
  options: ['up', '--ingress-port', '0'],
  run: async (server, isShort) => {
    const gotIn: string[] = [];
    await runPod(server, 'shell', { command: ['sleep', '3600'] });
    const query = ['sh', '-c', 'cat; exec sleep 3600', mark].map(
      (word) => `command=${encodeURIComponent(word)}`,
    );
    const path = `${pods}/shell/exec?stdin=true&stdout=true&${query.join('&')}`;
    const opened = async (): Promise<[TLSSocket, number]> => {
      const socket = await server.connection('127.0.0.2');
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.tokenOf('tenant')}\r\n` +
          'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
          'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n',
      );
      const first = await new Promise<Buffer | undefined>((resolve) =>
        socket.once('data', resolve).once('close', () => resolve(undefined)),
      );
      return [socket, Number(/^HTTP\/1.1 (\d+)/.exec(first?.toString('latin1') ?? '')?.[1] ?? 0)];
    };
    const sockets: TLSSocket[] = [];
    const codes: number[] = [];
    for (let i = 0; i < (isShort ? 2 : 20); i++) {
      const group = await Promise.all(Array.from({ length: isShort ? 6 : 20 }, opened));
      for (const [socket, code] of group) {
        codes.push(code);
        // Half of them leave at once.
        if (sockets.length % 2) socket.destroy();
        sockets.push(socket);
      }
    }
    const most = running();
    for (const socket of sockets) socket.destroy();
    await server.remove(`${pods}/shell`);
    await until('all programs have ended', async () => (running() === 0 ? true : undefined)).catch(() =>
      gotIn.push(`${running()} programs outlive their pod`),
    );
    return { gotIn, says: `${codesText(codes)}, ${most} programs ran at once` };
  },
};
