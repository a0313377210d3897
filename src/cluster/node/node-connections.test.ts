/** Proves that nodes are reached in memory or over verified TLS, and that forbidden addresses are refused. */
import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  authorityData,
  authorityOf,
  issueServingCertificate,
  makeNodeAuthority,
  type NodeAuthority,
} from '../../pki/node-certificates.ts';
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

const connections = new NodeConnections(async () => ({ ca: authority.ca.cert, client: authority.client }));
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
    expect(subject).toMatchObject({ CN: 'kube-apiserver-kubelet-client', O: 'system:masters' });
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
