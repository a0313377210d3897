/** Bodies of which a byte comes now and then, to paths of all kinds, from users with and without rights. */
import type { TLSSocket } from 'node:tls';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer, Rank } from '../attacked-server.ts';

const core = '/api/v1/namespaces/attack';
/** A request each: who, how, where, in which type. */
const requests: readonly (readonly [Rank, string, string, string])[] = [
  ['nobody', 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'application/json'],
  ['nobody', 'POST', `${core}/configmaps`, 'application/json'],
  ['anonymous', 'POST', `${core}/configmaps`, 'application/json'],
  ['tenant', 'POST', `${core}/configmaps`, 'application/json'],
  ['tenant', 'POST', `${core}/pods/none/eviction`, 'application/json'],
  ['tenant', 'POST', `${core}/serviceaccounts/default/token`, 'application/json'],
  ['tenant', 'PUT', `${core}/secrets/slow`, 'application/vnd.kubernetes.protobuf'],
  ['tenant', 'PATCH', `${core}/services/slow`, 'application/apply-patch+yaml'],
  ['tenant', 'DELETE', `${core}/configmaps`, 'application/json'],
  ['tenant', 'POST', `${core}/pods/none/proxy/`, 'application/octet-stream'],
];
/** Between two bytes of each. */
const byteMs = 250;

function head(server: AttackedServer, i: number): string {
  const [rank, method, path, type] = requests[i % requests.length]!;
  const token = server.tokenOf(rank);
  const framing = i % 3 ? 'Content-Length: 100000' : 'Transfer-Encoding: chunked';
  const authorization = token ? `Authorization: Bearer ${token}\r\n` : '';
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${authorization}Content-Type: ${type}\r\n${framing}\r\n\r\n`;
}

export const attack: Attack = {
  name: 'slow bodies',
  run: async (server, isShort) => {
    const count = isShort ? 60 : 1_500;
    const sockets: TLSSocket[] = [];
    for (let i = 0; i < count; i++) {
      const socket = await server.connection(`127.0.0.${2 + (i % 4)}`);
      sockets.push(socket);
      socket.resume().write(head(server, i));
    }
    const bytes = setInterval(() => {
      for (const [i, socket] of sockets.entries())
        if (!socket.destroyed) socket.write(i % 3 ? '{' : '1\r\n{\r\n');
    }, byteMs);
    const gotIn: string[] = [];
    const codes: number[] = [];
    const write = (rank: Rank, namespace: string) =>
      server.ask(rank, `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`, {
        method: 'POST',
        body: { metadata: { name: 'quick' } },
      });
    for (let i = 0; i < (isShort ? 5 : 100); i++) {
      for (const [rank, namespace] of [
        ['neighbour', 'default'],
        ['admin', 'attack'],
      ] as const) {
        const { status } = await write(rank, namespace);
        codes.push(status);
        if (status !== 201 && status !== 200) gotIn.push(`a write of the ${rank} gets ${status}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    clearInterval(bytes);
    const answered = sockets.filter((socket) => socket.bytesRead > 0 || socket.destroyed).length;
    for (const socket of sockets) socket.destroy();
    return {
      gotIn: [...new Set(gotIn)],
      says: `${count} bodies, ${answered} answered before they were complete; ${codesText(codes)}`,
    };
  },
};
