/**
 * Proves what a node that means harm does not get: certificates for the names of others, the API server's rights, or a way
 * to make the API server talk to itself. Also that certificates of agents and of front proxies open no door.
 */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CertificateSigningRequest, Node, Pod, Secret } from '../../src/api/generated/types.ts';
import { Client } from '../../src/client/client.ts';
import { configMaps, nodes, pods, secrets, services, signingRequests } from '../../src/client/resources.ts';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { type Authority, type Certified, clientUsages, yearMs } from '../../src/pki/authority.ts';
import { readAuthority } from '../../src/pki/cluster-certificates.ts';
import { newKeyPair, privatePem } from '../../src/pki/key-pair.ts';
import { authorityOf, issueServingCertificate, makeNodeAuthority } from '../../src/pki/node-certificates.ts';
import { makeSigningRequest } from '../../src/pki/signing-request.ts';

const waitMs = { timeout: 60_000, interval: 20 };
const subject = { commonName: 'system:node:evil', organizations: ['system:nodes'] };
let folder: string;
let cluster: Cluster;
let admin: Client;
/** The hostile node, with a client certificate that is really its own. */
let evil: Client;
let own: Authority;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-hostile-'));
  cluster = await start({ dataDir: folder, secure: { host: '0.0.0.0' } });
  admin = new Client(cluster.url);
  own = readAuthority(path.join(folder, 'pki'))!;
  const usages = clientUsages;
  const certified = own.issue({ subject, usages, lifeMs: yearMs }, Date.now());
  evil = new Client(doorAt('127.0.0.1'), { ca: own.pem.cert, ...certified });
  await evil.create(nodes, undefined, { metadata: { name: 'evil' } } as Node);
});
afterAll(async () => {
  evil.close();
  admin.close();
  await cluster.close();
  await rm(folder, { recursive: true, force: true });
});

const securePort = (): number => Number(new URL(cluster.secureUrl!).port);
const localPort = (): number => Number(new URL(cluster.url).port);
const doorAt = (host: string): string => `https://${host}:${securePort()}`;

const report = (status: object): Promise<unknown> =>
  admin.patch(nodes, undefined, 'evil', { status }, 'merge', 'status');

let asked = 0;
/** Asks for a serving certificate, and gives the name of the request and the key. */
async function ask(hosts: readonly string[]): Promise<{ name: string; key: string }> {
  const key = newKeyPair();
  const name = `evil-${++asked}`;
  await evil.create(signingRequests, undefined, {
    metadata: { name },
    spec: {
      request: Buffer.from(makeSigningRequest(key, subject, hosts)).toString('base64'),
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
    },
  } as CertificateSigningRequest);
  return { name, key: privatePem(key) };
}

async function signed(name: string): Promise<string> {
  const read = async () => (await admin.get(signingRequests, undefined, name)).status?.certificate;
  await expect.poll(read, waitMs).toBeDefined();
  return Buffer.from((await read())!, 'base64').toString('utf8');
}

/** What the secure door answers to a client with a certificate. */
function codeAtDoor(client: Certified): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { ...client, rejectUnauthorized: false, agent: false };
    const sent = request(`${doorAt('127.0.0.1')}/api`, options, (answer) => {
      answer.resume();
      resolve(answer.statusCode!);
    });
    sent.on('error', reject).end();
  });
}

describe('a node', () => {
  it('gets no certificate for others, whatever it reports, and one of its own authority for itself', async () => {
    const names = [
      'kubernetes.default.svc',
      'kubernetes',
      'localhost',
      hostname(),
      '*',
      '*.example.com',
      'victim',
      'victim.nodes.wherry.internal',
    ];
    const addresses = ['127.0.0.1', '::1', '10.96.0.1', '192.0.2.1', '0.0.0.0'];
    await report({
      addresses: [
        ...names.map((address) => ({ type: 'Hostname', address })),
        ...addresses.map((address) => ({ type: 'InternalIP', address })),
      ],
    });
    const refused: string[] = [];
    for (const host of [...names, ...addresses]) refused.push((await ask([host])).name);
    refused.push((await ask(['evil', 'kubernetes.default.svc'])).name);
    // Requests are decided in their order: when the last one is, so are those before it.
    for (const hosts of [['evil'], ['evil.nodes.wherry.internal'], ['evil', 'evil.nodes.wherry.internal']]) {
      const { name, key } = await ask(hosts);
      const cert = await signed(name);
      const certificate = new X509Certificate(cert);
      expect(certificate.verify(own.certificate.publicKey)).toBe(false);
      expect(certificate.subjectAltName).toBe(hosts.map((host) => `DNS:${host}`).join(', '));
      expect(await codeAtDoor({ cert, key })).toBe(401);
    }
    const states = await Promise.all(refused.map((name) => admin.get(signingRequests, undefined, name)));
    expect(states.map(({ status }) => status)).toEqual(refused.map(() => ({})));
  });

  it('names no object of the API as the source of its configuration', async () => {
    const configSource = { configMap: { name: 'a', namespace: 'kube-system', kubeletConfigKey: 'b' } };
    await expect(evil.patch(nodes, undefined, 'evil', { spec: { configSource } }, 'merge')).rejects.toThrow(
      'node "evil" is not allowed to update configSource to a new non-nil configSource',
    );
    // Its name is taken: admission comes before that is found out.
    const again = { metadata: { name: 'evil' }, spec: { configSource } } as Node;
    await expect(evil.create(nodes, undefined, again)).rejects.toThrow(
      'node "evil" is not allowed to create pods with a non-nil configSource',
    );
    expect((await admin.get(nodes, undefined, 'evil')).spec?.configSource).toBeUndefined();
  });

  it('makes no mirror pod that names objects of the API by its volumes', async () => {
    // Not only secrets and claims: a pod of a node could ask for certificates of its service account, too.
    const { uid } = (await admin.get(nodes, undefined, 'evil')).metadata;
    const mirror = (volume: object): Promise<unknown> =>
      evil.create(pods, 'default', {
        metadata: {
          generateName: 'mirror-',
          annotations: { 'kubernetes.io/config.mirror': 'x' },
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'evil', uid, controller: true }],
        },
        spec: {
          nodeName: 'evil',
          containers: [{ name: 'c', image: 'i' }],
          volumes: [{ name: 'v', ...volume }],
        },
      } as Pod);
    const podCertificate = { signerName: 'a/b', keyType: 'ED25519', credentialBundlePath: 'x' };
    for (const [volume, what] of [
      [{ projected: { sources: [{ podCertificate }] } }, 'podcertificates'],
      [{ csi: { driver: 'd.example.com' } }, 'csidrivers (via CSI volumes)'],
      [{ glusterfs: { endpoints: 'e', path: 'p' } }, 'endpoints (via glusterFS volumes)'],
    ] as const)
      await expect(mirror(volume)).rejects.toThrow(`node "evil" can not create pods that reference ${what}`);
    await expect(mirror({ emptyDir: {} })).resolves.toMatchObject({ spec: { nodeName: 'evil' } });
  });

  it('cannot say by itself what its certificate may name', async () => {
    const annotations = { 'wherry.dev/serving-addresses': 'kubernetes.default.svc' };
    await expect(evil.patch(nodes, undefined, 'evil', { metadata: { annotations } })).rejects.toThrow(
      'node "evil" is not allowed to modify the annotation "wherry.dev/serving-addresses"',
    );
    // The address that a request comes from is not the client's to say.
    const { name } = await ask(['evil']);
    const { spec } = await admin.get(signingRequests, undefined, name);
    expect(spec?.extra?.['wherry.dev/source-address']).toEqual(['127.0.0.1']);
    await admin.patch(nodes, undefined, 'evil', {
      metadata: { annotations: { 'wherry.dev/serving-addresses': 'evil.example.com 192.0.2.7' } },
    });
    const listed = await ask(['evil.example.com', '192.0.2.7']);
    expect(new X509Certificate(await signed(listed.name)).checkIP('192.0.2.7')).toBeDefined();
  });
});

describe('the API server', () => {
  const through = async (target: string, way: string): Promise<[number, string]> => {
    const answer = await fetch(`${cluster.url}/api/v1/nodes/${target}/proxy${way}`);
    return [answer.status, ((await answer.json()) as { message?: string }).message ?? ''];
  };

  it('never dials its own doors', async () => {
    const addresses = ['127.0.0.1', 'localhost', '::ffff:127.0.0.1', '::ffff:7f00:1', '127.0.0.9'];
    for (const address of addresses)
      for (const Port of [securePort(), ...(address === '127.0.0.9' ? [] : [localPort()])]) {
        await report({
          addresses: [{ type: 'InternalIP', address }],
          daemonEndpoints: { kubeletEndpoint: { Port } },
        });
        expect([address, ...(await through('evil', '/api/v1/secrets'))]).toEqual([
          address,
          400,
          expect.stringContaining('address not allowed'),
        ]);
      }
    const { spec } = await admin.get(services, 'default', 'kubernetes');
    await report({ addresses: [{ type: 'InternalIP', address: spec?.clusterIP }] });
    expect(await through('evil', '/')).toEqual([400, expect.stringContaining('address not allowed')]);
  });

  it('shows agents a certificate without any right, and believes those of the authority for nodes alone', async () => {
    const peers: string[] = [];
    const agentWith = async (certified: Certified): Promise<void> => {
      const server = createServer({ ...certified, requestCert: true, rejectUnauthorized: false });
      server.on('tlsClientError', (_error, socket) => socket.destroy());
      server.on('secureConnection', (socket) => {
        peers.push(socket.getPeerX509Certificate()!.subject);
        socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
        socket.resume();
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port: Port } = server.address() as AddressInfo;
      await report({
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port } },
      });
      const [code, message] = await through('evil', '/');
      await new Promise((resolve) => server.close(resolve));
      if (code !== 200) throw new Error(message);
    };
    const stored = (await admin.get(secrets, 'kube-system', 'wherry-node-ca')) as Secret;
    const { ca, client } = authorityOf(stored.data)!;
    const names = ['evil'];
    await agentWith(issueServingCertificate(ca, { names }));
    expect(peers.splice(0)).toEqual(['CN=kube-apiserver-kubelet-client']);
    expect(await codeAtDoor(client)).toBe(401);
    const unknown = 'certificate signed by unknown authority';
    // That of the clients of the API does not count, and neither does any other.
    await expect(agentWith(issueServingCertificate(own.pem, { names, ips: ['127.0.0.1'] }))).rejects.toThrow(
      unknown,
    );
    const { ca: foreign } = makeNodeAuthority(Date.now());
    await expect(agentWith(issueServingCertificate(foreign, { names }))).rejects.toThrow(unknown);
    await expect(
      agentWith(issueServingCertificate(ca, { names: ['other'], ips: ['127.0.0.1'] })),
    ).rejects.toThrow('certificate is that of node other, not evil');
  });

  it('has another authority for front proxies, which opens no door either', async () => {
    const { data = {} } = await admin.get(configMaps, 'kube-system', 'extension-apiserver-authentication');
    const proxies = readAuthority(path.join(folder, 'pki'), 'proxies')!;
    expect(data['requestheader-client-ca-file']).toBe(proxies.pem.cert);
    expect(data['client-ca-file']).toBe(own.pem.cert);
    expect(data['requestheader-allowed-names']).toBe('["front-proxy-client"]');
    const commonName = 'front-proxy-client';
    const proxy = proxies.issue(
      { subject: { commonName }, usages: clientUsages, lifeMs: yearMs },
      Date.now(),
    );
    expect(await codeAtDoor(proxy)).toBe(401);
  });
});
