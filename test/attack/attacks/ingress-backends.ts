/** A backend that attacks the ingress and the proxy of the API, and through them their clients. */
import { request } from 'node:http';
import { connect } from 'node:net';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer } from '../attacked-server.ts';
import { pods, runBackend, until } from '../pods.ts';

/** How the backend misbehaves, and which codes its client may see: 0 for a connection that is cut off. */
const ways: Readonly<Record<string, readonly number[]>> = {
  fine: [200],
  'endless-head': [502, 0],
  'huge-header': [502, 0],
  'many-headers': [200, 502],
  informing: [502, 0],
  processing: [502, 0],
  continuing: [502, 0],
  switching: [502, 0],
  splitting: [502, 0],
  'split-reason': [502, 0],
  'split-feed': [502, 0],
  'null-header': [502, 0],
  'too-short': [0],
  'too-long': [200],
  'two-lengths': [502, 0],
  'two-framings': [502, 0],
  'bad-chunk': [0],
  'odd-code': [502, 0],
  'big-code': [502, 999],
  'not-http': [502, 0],
  redirect: [302],
};
/** Such whose clients wait; they are opened, and go on while others are served. */
const lasting = ['endless', 'slow', 'slow-body', 'hang'];
const answerMaxMs = 20_000;

interface Got {
  readonly status: number;
  readonly head: string;
  readonly text: string;
}

/** The first answer, and every byte after it; status 0 when the body is not complete. */
function get(port: number, path: string): Promise<Got> {
  return new Promise((resolve) => {
    const failed = { status: 0, head: '', text: '' };
    const sent = request({ port, path, host: '127.0.0.1', timeout: answerMaxMs }, (response) => {
      let text = '';
      response.setEncoding('latin1').on('data', (part: string) => {
        text += part;
      });
      response.on('error', () => resolve(failed));
      response.on('end', () =>
        resolve({ status: response.statusCode!, head: response.rawHeaders.join('\n'), text }),
      );
    });
    sent.on('error', () => resolve(failed));
    sent.on('timeout', () => {
      resolve({ status: -1, head: '', text: 'no answer in time' });
      sent.destroy();
    });
    sent.end();
  });
}

function problem(way: string, { status, head, text }: Got): string | undefined {
  if (!ways[way]!.includes(status)) return `${way} is answered with ${status} ${text.slice(0, 100)}`;
  if (/set-cookie|x-split|x-smuggled/i.test(head) || text.includes('smuggled'))
    return `${way} reaches the client`;
  return undefined;
}

async function ingressPort(server: AttackedServer): Promise<number> {
  await runBackend(server);
  const backend = { service: { name: 'backend', port: { number: 80 } } };
  const paths = [{ path: '/', pathType: 'Prefix', backend }];
  const ingresses = '/apis/networking.k8s.io/v1/namespaces/attack/ingresses';
  await server.create(ingresses, { metadata: { name: 'attack' }, spec: { rules: [{ http: { paths } }] } });
  const port = await until('the ingress listens', async () => {
    const found = /ingress at http:\/\/[^:]+:(\d+)/.exec(server.said);
    return found ? Number(found[1]) : undefined;
  });
  await until('the ingress leads to the backend', async () =>
    (await get(port, '/fine')).status === 200 ? true : undefined,
  );
  return port;
}

export const attack: Attack = {
  name: 'backends of the ingress',
  options: ['up', '--ingress-port', '0'],
  run: async (server, isShort) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    const port = await ingressPort(server);
    const before = server.megabytes;
    const readers = Array.from({ length: isShort ? 8 : 100 }, (_, i) => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      const upgrade = i % 8 > 3 ? 'Connection: Upgrade\r\nUpgrade: websocket\r\n' : '';
      socket.pause().write(`GET /${lasting[i % 4]} HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n`);
      return socket;
    });
    for (let round = 0; round < (isShort ? 1 : 3); round++)
      for (const way of Object.keys(ways)) {
        const through = await get(port, `/${way}`);
        codes.push(through.status);
        const what = problem(way, through);
        if (what) gotIn.push(`through the ingress ${what}`);
        const cpuMs = server.cpuMs;
        const proxied = await server.ask('tenant', `${pods}/backend:28080/proxy/${way}`);
        codes.push(proxied.status);
        if (proxied.text.includes('smuggled')) gotIn.push(`${way} reaches the client of the proxy`);
        if (server.cpuMs - cpuMs > 2_000) gotIn.push(`${way} costs ${Math.round(server.cpuMs - cpuMs)} ms`);
      }
    const grown = server.megabytes - before;
    if (grown > 400) gotIn.push(`it takes ${Math.round(grown)} MB`);
    for (const socket of readers) socket.destroy();
    await server.remove('/apis/networking.k8s.io/v1/namespaces/attack/ingresses/attack');
    return { gotIn, says: `${codesText(codes)}, ${Math.round(grown)} MB more` };
  },
};
