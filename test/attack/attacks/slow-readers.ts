/** Streams of every kind, opened by a tenant who reads nothing of them. */
import type { TLSSocket } from 'node:tls';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer } from '../attacked-server.ts';
import { backendPort, pods, runBackend, runPod } from '../pods.ts';

const configMaps = '/api/v1/namespaces/attack/configmaps';
const yes = 'container=main&stdout=true&command=sh&command=-c&command=exec+yes+to+be+read';
const websocket =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const channels = `${websocket}Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n`;

/** A path and further header lines each; the third is what is sent after an upgrade. */
const streams: Readonly<Record<string, readonly [string, string?, Buffer?]>> = {
  list: [configMaps],
  'list in YAML': [configMaps, 'Accept: application/yaml\r\n'],
  'pretty list': [`${configMaps}?pretty=true`],
  'list as table': [configMaps, 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n'],
  'list in protobuf': [configMaps, 'Accept: application/vnd.kubernetes.protobuf\r\n'],
  'list with gzip': [configMaps, 'Accept-Encoding: gzip\r\n'],
  watch: [`${configMaps}?watch=true&resourceVersion=0`],
  'watch by WebSocket': [`${configMaps}?watch=true&resourceVersion=0`, websocket],
  'shared watches': [
    '/wherry/watches',
    websocket,
    frame(JSON.stringify({ start: 'a', path: `${configMaps}?watch=true&resourceVersion=0` })),
  ],
  logs: [`${pods}/talker/log?follow=true`],
  'logs of all': [`${pods}/talker/log`],
  exec: [`${pods}/talker/exec?${yes}`, channels],
  attach: [`${pods}/talker/attach?container=main&stdout=true`, channels],
  'port-forward': [
    `${pods}/backend/portforward?ports=${backendPort}`,
    channels,
    frame(Buffer.from('\0GET /endless HTTP/1.1\r\n\r\n')),
  ],
  'proxy to a pod': [`${pods}/backend:${backendPort}/proxy/endless`],
  'proxy to a service': ['/api/v1/namespaces/attack/services/backend:http/proxy/endless'],
  openapi: ['/openapi/v2'],
  'openapi v3': ['/openapi/v3/api/v1'],
};
/** Megabytes that each stream may cost the server. */
const eachMax = 3;

/** A frame of a WebSocket, as clients send it, with a mask of zeros. */
function frame(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string);
  const isText = typeof content === 'string';
  const length = bytes.length < 126 ? [0x80 | bytes.length] : [0xfe, bytes.length >> 8, bytes.length & 0xff];
  return Buffer.concat([Buffer.from([isText ? 0x81 : 0x82, ...length, 0, 0, 0, 0]), bytes]);
}

/** Opens a stream, reads its first bytes, and then no more. The code of its answer. */
async function open(
  server: AttackedServer,
  socket: TLSSocket,
  [path, lines = '', sent]: readonly [string, string?, Buffer?],
): Promise<number> {
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.tokenOf('tenant')}\r\n${lines}\r\n`,
  );
  const first = await new Promise<Buffer | undefined>((resolve) =>
    socket.once('data', resolve).once('close', () => resolve(undefined)),
  );
  socket.pause();
  if (sent) socket.write(sent);
  return Number(/^HTTP\/1.1 (\d+)/.exec(first?.toString('latin1') ?? '')?.[1] ?? 0);
}

export const attack: Attack = {
  name: 'streams that nobody reads',
  options: ['up', '--ingress-port', '0'],
  run: async (server, isShort) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    await runBackend(server);
    const script = 'yes to be logged | head -c 3000000; while sleep 1; do echo more; done';
    await runPod(server, 'talker', { command: ['sh', '-c', script] });
    const objects = isShort ? 10 : 40;
    const data = { a: 'x'.repeat(100_000) };
    for (let i = 0; i < objects; i++)
      await server.create(configMaps, { metadata: { name: `attack-${i}` }, data });
    const before = server.megabytes;
    const sockets: TLSSocket[] = [];
    for (let i = 0; i < (isShort ? 1 : 12); i++)
      for (const [what, stream] of Object.entries(streams)) {
        const socket = await server.connection('127.0.0.2');
        sockets.push(socket);
        const code = await open(server, socket, stream);
        codes.push(code);
        if (code !== 200 && code !== 101 && code !== 429) gotIn.push(`${what} is answered with ${code}`);
      }
    for (let i = 0; i < (isShort ? 10 : 200); i++) {
      const name = `attack-${i % objects}`;
      const body = { metadata: { name }, data: { ...data, i: String(i) } };
      const { status } = await server.ask('tenant', `${configMaps}/${name}`, { method: 'PUT', body });
      if (status !== 200) gotIn.push(`a write gets ${status}`);
    }
    const grown = server.megabytes - before;
    if (grown > 200 + sockets.length * eachMax) gotIn.push(`they take ${Math.round(grown)} MB`);
    for (const socket of sockets) socket.destroy();
    await server.remove(configMaps);
    await server.remove(`${pods}/talker`);
    return { gotIn: [...new Set(gotIn)], says: `${codesText(codes)}, ${Math.round(grown)} MB more` };
  },
};
