/**
 * The doors of this machine, reached through a pod that shares its network, through a service, a node and a port that is
 * forwarded: those of the server itself and of another one. The local door would take every such request for its owner's.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { PortDialer } from '../../../src/streams/spdy/port-dialer.ts';
import { type Attack, codesText } from '../attack.ts';
import { AttackedServer } from '../attacked-server.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const ns = '/api/v1/namespaces/default';
const secrets = 'api/v1/secrets';
const refusal = 'address not allowed';
const waitMaxMs = 60_000;
const pauseMs = 100;

const doorsOf = (server: AttackedServer): number[] =>
  [server.url!, server.secureUrl].map((url) => Number(new URL(url).port));

export const attack: Attack = {
  name: 'doors reached through pods, services, nodes and forwarded ports',
  options: ['up', '--pod-network', 'host', '--runtime', 'process'],
  run: async (server) => {
    const other = await AttackedServer.start();
    try {
      const ports = [...doorsOf(server), ...doorsOf(other)];
      const node = await prepare(server, ports);
      const gotIn: string[] = [];
      const codes: number[] = [];
      for (const port of ports) {
        for (const scheme of ['', 'https:'])
          for (const path of [
            `${ns}/pods/${scheme}way:${port}/proxy/${secrets}`,
            `/api/v1/proxy/namespaces/default/pods/${scheme}way:${port}/${secrets}`,
            `${ns}/services/${scheme}door-${port}:80/proxy/${secrets}`,
            `/api/v1/nodes/${scheme}${node}:${port}/proxy/${secrets}`,
          ]) {
            const { status, text } = await server.ask('nobody', path);
            codes.push(status);
            if (!text.includes(refusal)) gotIn.push(`${path}: ${status} ${text.slice(0, 100)}`);
          }
        for (const [protocol, forward] of [
          ['a WebSocket', forwarded],
          ['SPDY', forwardedBySpdy],
        ] as const) {
          const said = await forward(server, port);
          if (!said.includes(refusal)) gotIn.push(`port ${port} over ${protocol}: ${said.slice(0, 100)}`);
        }
      }
      return { gotIn, says: codesText(codes) };
    } finally {
      await server.askLocally(`${ns}/pods/way?gracePeriodSeconds=0`, { method: 'DELETE' });
      await until(async () => (await server.askLocally(`${ns}/pods/way`)).status === 404);
      await other.close();
    }
  },
};

/** A pod on the machine's network, services that lead to its ports, and the rights for all ways to it. */
async function prepare(server: AttackedServer, ports: readonly number[]): Promise<string> {
  const post = (path: string, body: object) => server.askLocally(path, { method: 'POST', body });
  const metadata = { name: 'ways' };
  const resources = ['pods/proxy', 'services/proxy', 'nodes/proxy', 'pods/portforward'];
  await post(`${rbac}/clusterroles`, { metadata, rules: [{ apiGroups: [''], resources, verbs: ['*'] }] });
  await post(`${rbac}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'ways' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'nobody' }],
  });
  await until(async () => (await server.askLocally(`${ns}/serviceaccounts/default`)).status === 200);
  const containers = [{ name: 'c', image: 'host', command: ['sleep', '600'] }];
  await post(`${ns}/pods`, { metadata: { name: 'way', labels: { way: 'in' } }, spec: { containers } });
  for (const port of ports)
    await post(`${ns}/services`, {
      metadata: { name: `door-${port}` },
      spec: { selector: { way: 'in' }, ports: [{ port: 80, targetPort: port }] },
    });
  await until(async () => {
    const { text } = await server.askLocally('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices');
    const ready = (JSON.parse(text).items as any[]).filter(
      ({ endpoints }) => endpoints?.[0]?.conditions?.ready,
    );
    return ports.every((port) => ready.some((slice) => slice.ports?.[0]?.port === port));
  });
  const { text } = await server.askLocally('/api/v1/nodes');
  return JSON.parse(text).items[0].metadata.name;
}

const requestText = `GET /${secrets} HTTP/1.0\r\nHost: localhost\r\n\r\n`;

/** What a request to a port that is forwarded over a WebSocket brings, or why it was not forwarded. */
function forwarded(server: AttackedServer, port: number): Promise<string> {
  const url = `${server.secureUrl.replace('https:', 'wss:')}${ns}/pods/way/portforward?ports=${port}`;
  const socket = new WebSocket(url, 'v4.channel.k8s.io', {
    headers: server.headersOf('nobody'),
    rejectUnauthorized: false,
  });
  let said = '';
  return new Promise((resolve) => {
    socket.on('open', () => socket.send(Buffer.from(`\0${requestText}`)));
    socket.on('message', (message: Buffer) => {
      // Both channels begin with the port.
      if (message.length > 3) said += message.subarray(1).toString('latin1');
      if (said) socket.close();
    });
    socket.on('error', (error) => resolve(error.message)).on('close', () => resolve(said));
  });
}

/** The same over SPDY, as kubectl before 1.31 does it. */
async function forwardedBySpdy(server: AttackedServer, port: number): Promise<string> {
  const open = async () => {
    const socket = await server.connection();
    socket.write(
      `POST ${ns}/pods/way/portforward HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n` +
        `Content-Length: 0\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n` +
        `Authorization: ${server.headersOf('nobody').authorization}\r\n\r\n`,
    );
    const [head] = (await once(socket, 'data')) as [Buffer];
    if (!head.includes('HTTP/1.1 101 ')) throw new Error(head.toString('latin1'));
    return { socket, head: head.subarray(head.indexOf('\r\n\r\n') + 4) };
  };
  const dialer = new PortDialer({ open });
  try {
    const stream = await dialer.dial(port);
    stream.end(requestText);
    let said = '';
    for await (const chunk of stream) said += chunk;
    return said;
  } catch (error) {
    return (error as Error).message;
  } finally {
    dialer.close();
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + waitMaxMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('the cluster did not get ready for the attack');
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
