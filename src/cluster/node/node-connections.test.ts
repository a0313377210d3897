/** Proves that nodes are reached in memory or over verified TLS, and that forbidden addresses are refused. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Authority, clientUsages, yearMs } from '../../pki/authority.ts';
import {
  authorityData,
  authorityOf,
  currentAuthority,
  issueServingCertificate,
  makeNodeAuthority,
  type NodeAuthority,
} from '../../pki/node-certificates.ts';
import type { View } from '../../registry/view/view.ts';
import type { Door } from '../../server/http/door.ts';
import { OwnDoors } from '../../server/http/own-doors.ts';
import { memoryPipe } from '../../streams/bytes/memory-pipe.ts';
import { NodeConnections } from './node-connections.ts';

let authority: NodeAuthority;
let stranger: NodeAuthority;
const servers: Server[] = [];
beforeAll(async () => {
  authority = await makeNodeAuthority(Date.now());
  stranger = await makeNodeAuthority(Date.now());
});
afterAll(async () => {
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
});

const trust = async () => ({ ca: authority.ca.cert, client: authority.client, namesNodes: true });
const connections = new NodeConnections(trust);
const at = (host: string, port: number) => ({ name: 'n', host, port, servesWebSockets: false });

async function agent(
  options: { ips?: string[]; names?: string[]; nowMs?: number },
  signer = authority,
): Promise<{ port: number; peer: Promise<TLSSocket> }> {
  const server = createServer({
    ...(await issueServingCertificate(signer.ca, options)),
    ca: authority.ca.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  servers.push(server);
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  // An unread socket would not notice its end.
  server.on('secureConnection', (socket) => socket.on('error', () => undefined).resume());
  const peer = once(server, 'secureConnection').then(([socket]) => socket as TLSSocket);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: (server.address() as AddressInfo).port, peer };
}

describe('agents of other processes', () => {
  it('are shown who the server is, and verified', async () => {
    const { port, peer } = await agent({ ips: ['127.0.0.1'] });
    const connection = await connections.connect(at('127.0.0.1', port));
    const { subject } = (await peer).getPeerCertificate();
    // In no group, which would have rights.
    expect({ ...subject }).toEqual({ CN: 'kube-apiserver-kubelet-client' });
    connection.write('hello');
    expect(String((await once(await peer, 'data'))[0])).toBe('hello');
    connection.destroy();
    (await peer).destroy();
  });

  it('are verified by the name that was asked for', async () => {
    const { port, peer } = await agent({ names: ['localhost'] });
    const connection = await connections.connect(at('localhost', port));
    // The agent sees the connection only when the handshake is complete.
    (await peer).destroy();
    connection.destroy();
  });

  it('are verified by the name of their node, wherever they are', async () => {
    for (const name of ['n', 'n.nodes.wherry.internal']) {
      const { port, peer } = await agent({ names: ['n', name] });
      const connection = await connections.connect(at('127.0.0.1', port));
      (await peer).destroy();
      connection.destroy();
    }
  });

  it('of another node are refused, also at their own address', async () => {
    const { port } = await agent({ names: ['other'], ips: ['127.0.0.1'] });
    const refused = 'x509: certificate is that of node other, not n';
    await expect(connections.connect(at('127.0.0.1', port))).rejects.toThrow(refused);
    // Certificates of authorities that the operator names say what they like of themselves.
    const lenient = new NodeConnections(async () => ({ ...(await trust()), namesNodes: false }));
    (await lenient.connect(at('127.0.0.1', port))).destroy();
  });

  it('are not looked for at the doors of the server itself', async () => {
    const { port } = await agent({ ips: ['127.0.0.1'], names: ['n'] });
    const door = { url: `https://127.0.0.1:${port}` } as Door;
    const view = { collection: () => ({ get: () => undefined }) } as unknown as View;
    const careful = new NodeConnections(trust, undefined, new OwnDoors([door], view));
    for (const host of ['127.0.0.1', 'localhost', '::ffff:127.0.0.1'])
      await expect(careful.connect(at(host, port), { insecure: true })).rejects.toThrow(
        'address not allowed',
      );
  });

  const prefix = 'tls: failed to verify certificate: x509: ';
  it.each([
    [
      'of another authority',
      { ips: ['127.0.0.1'] },
      true,
      `${prefix}certificate signed by unknown authority`,
    ],
    [
      'for other addresses',
      { ips: ['10.0.0.1'], names: ['other'] },
      false,
      `${prefix}certificate is valid for other, 10.0.0.1, not 127.0.0.1`,
    ],
    [
      'that has expired',
      { ips: ['127.0.0.1'], nowMs: Date.now() - 20 * 365 * 86_400_000 },
      false,
      `${prefix}certificate has expired or is not yet valid`,
    ],
  ])(
    'with a certificate %s are refused, asked to trust them or not',
    async (_what, options, foreign, message) => {
      const { port } = await agent(options, foreign ? stranger : authority);
      await expect(connections.connect(at('127.0.0.1', port))).rejects.toThrow(message);
      // Another server on this machine is not an agent.
      await expect(connections.connect(at('127.0.0.1', port), { insecure: true })).rejects.toThrow(message);
    },
  );

  it('that do not speak TLS are told of', async () => {
    const server = createTcpServer((socket) => {
      socket
        .on('error', () => undefined)
        .resume()
        .end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    await expect(
      connections.connect(at('127.0.0.1', (server.address() as AddressInfo).port)),
    ).rejects.toThrow('tls: first record does not look like a TLS handshake');
  });

  it('that are not there are told of in the words of Go', async () => {
    const server = createTcpServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    await expect(connections.connect(at('127.0.0.1', port))).rejects.toThrow(
      `dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
    await expect(connections.connect(at('no-such-node.invalid', 1))).rejects.toThrow(
      /^dial tcp: lookup no-such-node\.invalid: (no such host|i\/o timeout)$/,
    );
  });

  it.each([
    '0.0.0.0',
    '169.254.169.254',
    '::',
    'fe80::1',
    '224.0.0.1',
    '255.255.255.255',
    '::ffff:169.254.169.254',
    '::ffff:0.0.0.0',
  ])('at %s are never dialled', async (host) => {
    await expect(connections.connect(at(host, 10_250))).rejects.toThrow('address not allowed');
  });
});

describe('agents of this process', () => {
  it('are reached through memory while they are there', async () => {
    const local = new NodeConnections(() => Promise.reject(new Error('not needed')));
    const [near, far] = memoryPipe();
    local.addLocal('n', () => near);
    expect(local.isLocal('n')).toBe(true);
    const connection = await local.connect(at('169.254.169.254', 1));
    connection.write('hello');
    expect(String((await once(far, 'data'))[0])).toBe('hello');
    local.removeLocal('n');
    expect(local.isLocal('n')).toBe(false);
    await expect(local.connect(at('0.0.0.0', 1))).rejects.toThrow('address not allowed');
  });
});

it('an authority survives being a secret', () => {
  expect(authorityOf(authorityData(authority))).toEqual(authority);
  const { 'ca.key': _, ...less } = authorityData(authority);
  expect(authorityOf(less)).toBeUndefined();
  expect(authorityOf(undefined)).toBeUndefined();
});

it('an authority of an earlier version goes on, without the rights of its client certificate', () => {
  const nowMs = Date.now();
  expect(currentAuthority(authority, nowMs)).toBe(authority);
  const subject = { commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] };
  const client = new Authority(authority.ca).issue({ subject, usages: clientUsages, lifeMs: yearMs }, nowMs);
  const mended = currentAuthority({ ca: authority.ca, client }, nowMs);
  expect(mended.ca).toBe(authority.ca);
  expect(new X509Certificate(mended.client.cert).subject).toBe('CN=kube-apiserver-kubelet-client');
  const late = currentAuthority(authority, nowMs + 9.5 * yearMs);
  expect(late.ca.key).toBe(authority.ca.key);
  expect(Date.parse(new X509Certificate(late.ca.cert).validTo)).toBeGreaterThan(nowMs + 19 * yearMs);
});
