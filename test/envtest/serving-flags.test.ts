/** Proves that flags about serving, storing, nodes and records of requests show in what the server of the pair does. */
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assets, ControlPlane, until } from './harness.ts';
import { OtherSide } from './other-side.ts';

const other = new OtherSide();
let folder: string;
let plane: ControlPlane;
const bodyOf = (answer: { text: string } | undefined): any => JSON.parse(answer!.text);
const inDefault = (resource: string): string => `/api/v1/namespaces/default/${resource}`;
/** An address of this machine that others could reach. */
const outsideAddress = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === 'IPv4' && !one.internal)?.address;
const secretText = 'a-text-that-is-nowhere-else';

beforeAll(async () => {
  folder = await assets();
  plane = new ControlPlane(folder);
  await other.start();
  await plane.startEtcd(
    '--max-request-bytes=9000000',
    '--log-level=warn',
    `--log-outputs=${plane.folder}/etcd.log`,
    `--wal-dir=${plane.folder}/wal`,
  );
});
afterAll(async () => {
  await plane.close();
  await other.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The connection of a handshake, or the error of a refused one. */
function handshake(options: ConnectionOptions): Promise<TLSSocket | Error> {
  return new Promise((resolve) => {
    const port = Number(new URL(plane.url).port);
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options });
    socket.on('secureConnect', () => {
      resolve(socket);
      socket.end();
    });
    socket.on('error', resolve);
  });
}

const commonName = async (servername: string): Promise<string> =>
  ((await handshake({ servername })) as TLSSocket).getPeerCertificate().subject.CN as string;

const make = async (where: string, body: object) => plane.ask('POST', where, body, plane.admin);

describe('flags of the first server', () => {
  beforeAll(async () => {
    const given = plane.writeServing('given', 'given.example', '127.0.0.1');
    const extra = plane.writeServing('extra', 'extra.example');
    const agentClient = plane.user('shown-to-nodes');
    const proxyClient = plane.user('shown-to-aggregated');
    const key = Buffer.alloc(32, 7).toString('base64');
    await plane.startServer({
      'advertise-address': '192.0.2.7',
      'external-hostname': 'api.example',
      'tls-cert-file': given.certFile,
      'tls-private-key-file': given.keyFile,
      'tls-sni-cert-key': `${extra.certFile},${extra.keyFile}:extra.example`,
      'tls-min-version': 'VersionTLS13',
      'disable-http2-serving': 'true',
      'max-requests-inflight': '30',
      'max-mutating-requests-inflight': '12',
      'allow-privileged': 'false',
      'service-node-port-range': '31000-31003',
      'enable-garbage-collector': 'false',
      'event-ttl': '1s',
      'service-account-max-token-expiration': '1h',
      'enable-admission-plugins': 'NodeRestriction',
      'emulated-version': '1.33',
      'logging-format': 'json',
      v: '2',
      'encryption-provider-config': plane.write('encryption.json', {
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'EncryptionConfiguration',
        resources: [
          { resources: ['secrets'], providers: [{ aescbc: { keys: [{ name: 'k', secret: key }] } }] },
        ],
      }),
      'audit-log-path': `${plane.folder}/audit.log`,
      'audit-log-format': 'legacy',
      'audit-log-mode': 'blocking',
      'audit-log-version': 'audit.k8s.io/v1',
      'audit-log-maxage': '1',
      'audit-log-maxbackup': '2',
      'audit-log-maxsize': '3',
      'audit-webhook-config-file': plane.write('audit.json', other.kubeconfig('/audit')),
      'audit-webhook-mode': 'blocking',
      'audit-policy-file': plane.write('policy.json', {
        apiVersion: 'audit.k8s.io/v1',
        kind: 'Policy',
        omitStages: ['RequestReceived'],
        rules: [{ level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }] }, { level: 'None' }],
      }),
      'kubelet-certificate-authority': plane.write('nodes.crt', other.ca),
      'kubelet-client-certificate': plane.write('agent.crt', agentClient.cert!),
      'kubelet-client-key': plane.write('agent.key', agentClient.key!),
      'kubelet-preferred-address-types': 'ExternalIP,InternalIP',
      'kubelet-timeout': '3s',
      'feature-gates': 'WatchList=false,kube:APIResponseCompression=false',
      'proxy-client-cert-file': plane.write('proxy.crt', proxyClient.cert!),
      'proxy-client-key-file': plane.write('proxy.key', proxyClient.key!),
    });
    other.answer('/audit', () => ({}));
  });

  it('say which certificate is shown to whom, and how clients must speak', async () => {
    expect([await commonName('localhost'), await commonName('extra.example')]).toEqual([
      'given.example',
      'extra.example',
    ]);
    expect(await handshake({ maxVersion: 'TLSv1.2' })).toBeInstanceOf(Error);
    const offered = (await handshake({ ALPNProtocols: ['h2', 'http/1.1'] })) as TLSSocket;
    expect(offered.alpnProtocol).toBe('http/1.1');
  });

  it('show where the server is', async () => {
    const endpoints = bodyOf(await plane.get(inDefault('endpoints/kubernetes'), plane.admin));
    expect(endpoints.subsets[0].addresses).toEqual([{ ip: '192.0.2.7' }]);
    const issuer = bodyOf(await plane.get('/.well-known/openid-configuration', plane.admin));
    expect(issuer.jwks_uri).toBe(`https://api.example:${new URL(plane.url).port}/openid/v1/jwks`);
  });

  it('close gates of what is served', async () => {
    const watch = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const refused = await plane.get(`/api/v1/namespaces?${watch}`, plane.admin);
    expect([refused!.code, bodyOf(refused).message]).toEqual([
      422,
      'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
    ]);
    const zipped = { ...plane.admin, headers: { 'Accept-Encoding': 'gzip' } };
    const long = await plane.get('/openapi/v2', zipped);
    expect(long!.text.length).toBeGreaterThan(200_000);
    expect(long!.text).toMatch(/^\{/);
  });

  it('bound requests in number and size', async () => {
    const metrics = (await plane.get('/metrics', plane.admin))!.text;
    const limits = metrics.split('\n').filter((line) => /^wherry_limit\{.*requests-inflight/.test(line));
    expect(limits.map((line) => line.split(' ')[1])).toEqual(['30', '12']);
    // etcd was told that writes may be larger than usual.
    const large = { metadata: { name: 'large' }, data: { text: 'x'.repeat(900_000) } };
    expect((await make(inDefault('configmaps'), large))?.code).toBe(201);
    const padded = { metadata: { name: 'padded' }, data: {}, ignored: 'x'.repeat(4_000_000) };
    expect((await make(inDefault('configmaps'), padded))?.code).toBe(201);
  });

  it('change what pods, services and nodes may be', async () => {
    const privileged = pod('privileged', { securityContext: { privileged: true } });
    expect((await make(inDefault('pods'), privileged))?.code).toBe(422);
    // A node may do anything by its role, and is held back by the plugin that was added.
    await make('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'n' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:node:n' }],
    });
    const node = plane.user('system:node:n', 'system:nodes');
    const foreign = await plane.ask('POST', '/api/v1/nodes', { metadata: { name: 'm' } }, node);
    expect([foreign?.code, foreign?.text]).toEqual([403, expect.stringContaining('is not allowed to')]);
    const spec = { type: 'NodePort', ports: [{ port: 80 }] };
    const service = bodyOf(await make(inDefault('services'), { metadata: { name: 's' }, spec }));
    expect(service.spec.ports[0].nodePort).toBeGreaterThanOrEqual(31_000);
    expect(service.spec.ports[0].nodePort).toBeLessThanOrEqual(31_003);
  });

  it('let events go, and leave dependents alone', async () => {
    const involvedObject = { kind: 'Pod', namespace: 'default', name: 'p' };
    expect((await make(inDefault('events'), { metadata: { name: 'e' }, involvedObject }))?.code).toBe(201);
    const owner = bodyOf(await make(inDefault('configmaps'), { metadata: { name: 'owner' } }));
    // Without a collector there is nothing to wait for, also when a client asks for it.
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Foreground' };
    await plane.ask('DELETE', inDefault('configmaps/owner'), options, plane.admin);
    expect(owner.metadata.uid).toBeDefined();
    expect((await plane.get(inDefault('configmaps/owner'), plane.admin))?.code).toBe(404);
    const gone = async () => (await plane.get(inDefault('events/e'), plane.admin))?.code === 404;
    await until('the event is gone', gone);
  });

  it('do not serve what came after the emulated version', async () => {
    expect(bodyOf(await plane.get('/version', plane.admin))).toMatchObject({ emulationMinor: '33' });
    const groups = bodyOf(await plane.get('/apis', plane.admin)).groups.map(({ name }: any) => name);
    expect(groups).not.toContain('resource.k8s.io');
    const resources = async (version: string) =>
      bodyOf(await plane.get(`/apis/${version}`, plane.admin)).resources.map(({ name }: any) => name);
    expect(await resources('storage.k8s.io/v1')).not.toContain('volumeattributesclasses');
    expect(await resources('storage.k8s.io/v1')).toContain('storageclasses');
    const policies = await resources('admissionregistration.k8s.io/v1');
    expect(policies.filter((name: string) => name.includes('policies'))).toEqual([
      'validatingadmissionpolicies',
      'validatingadmissionpolicies/status',
    ]);
    expect((await plane.get('/apis/resource.k8s.io/v1/deviceclasses', plane.admin))?.code).toBe(404);
  });

  it('keep secrets encrypted, and record who asked for them', async () => {
    const stringData = { text: secretText };
    expect((await make(inDefault('secrets'), { metadata: { name: 's' }, stringData }))?.code).toBe(201);
    const data = { text: 'a-text-of-a-map' };
    await make(inDefault('configmaps'), { metadata: { name: 'plain' }, data });
    const stored = filesBelow(plane.dataDir).map((file) => readFileSync(file, 'latin1'));
    const encoded = Buffer.from(secretText).toString('base64');
    expect(stored.some((text) => text.includes('a-text-of-a-map'))).toBe(true);
    expect(stored.some((text) => text.includes(secretText) || text.includes(encoded))).toBe(false);
    // A request is recorded after its answer.
    const auditEvents = () =>
      other.came.filter(({ path }) => path === '/audit').flatMap(({ body }) => body.items);
    const audit = () => readFileSync(`${plane.folder}/audit.log`, 'utf8').trim().split('\n');
    await until('the request is recorded', async () => auditEvents().length > 0 && audit()[0] !== '');
    expect(audit()).toEqual([
      expect.stringMatching(/^\S+ AUDIT: id="[^"]+" stage="ResponseComplete" .*user="admin"/),
    ]);
    expect(auditEvents()).toMatchObject([
      { level: 'Metadata', verb: 'create', objectRef: { resource: 'secrets', name: 's' } },
    ]);
  });

  it('bound the life of tokens', async () => {
    await make(inDefault('serviceaccounts'), { metadata: { name: 'robot' } });
    const asked = { spec: { expirationSeconds: 10_000 } };
    const { spec } = bodyOf(await make(inDefault('serviceaccounts/robot/token'), asked));
    expect(spec.expirationSeconds).toBe(3_600);
  });

  it('say how nodes are reached', async () => {
    const status = (ip: string, port: number) => ({
      addresses: [
        { type: 'InternalIP', address: '192.0.2.1' },
        { type: 'ExternalIP', address: ip },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    });
    const addNode = async (name: string, port: number) => {
      expect((await make('/api/v1/nodes', { metadata: { name } }))?.code).toBe(201);
      const body = { metadata: { name }, status: status('127.0.0.1', port) };
      expect((await plane.ask('PUT', `/api/v1/nodes/${name}/status`, body, plane.admin))?.code).toBe(200);
    };
    await addNode('other', other.port);
    other.answer('/hello', () => 'from the node');
    const answered = await plane.get('/api/v1/nodes/other/proxy/hello', plane.admin);
    expect([answered?.code, answered?.text]).toEqual([200, 'from the node']);
    expect(other.came.at(-1)).toMatchObject({ path: '/hello', client: 'shown-to-nodes' });

    // It accepts connections, and says nothing.
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    await addNode('silent', (silent.address() as AddressInfo).port);
    const late = await plane.get('/api/v1/nodes/silent/proxy/hello', plane.admin);
    expect([late?.code, late?.text]).toEqual([503, expect.stringContaining('TLS handshake timeout')]);
    silent.close();
  });

  // Services at loopback addresses are not dialled.
  it.skipIf(outsideAddress === undefined)('say what aggregated servers are shown', async () => {
    other.answer('/apis/things.example/v1', () => ({ kind: 'APIResourceList', resources: [] }));
    await make(inDefault('services'), {
      metadata: { name: 'things' },
      spec: { type: 'ExternalName', externalName: outsideAddress, ports: [{ port: other.port }] },
    });
    const service = { namespace: 'default', name: 'things', port: other.port };
    await make('/apis/apiregistration.k8s.io/v1/apiservices', {
      metadata: { name: 'v1.things.example' },
      spec: {
        group: 'things.example',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service,
      },
    });
    const served = async () => (await plane.get('/apis/things.example/v1', plane.admin))?.code === 200;
    await until('the aggregated server answers', served);
    // The server also asks for itself, whether the other is there.
    const asked = other.came.filter(
      ({ path, headers }) => path === '/apis/things.example/v1' && headers['x-remote-user'],
    );
    const users = new Set(asked.map(({ client, headers }) => `${headers['x-remote-user']} by ${client}`));
    expect(users).toContain('admin by shown-to-aggregated');
  });

  it('choose the form of the log', () => {
    const lines = plane.errors.join('').trim().split('\n').filter(Boolean);
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(
      expect.arrayContaining(['Version: v1.36.4', expect.stringContaining('Serving securely on')]),
    );
    // etcd writes to its file, and nothing below warnings.
    expect(readdirSync(plane.folder)).toContain('wal');
    expect(lines.some((line) => line.includes('ready to serve client requests'))).toBe(false);
  });
});

describe('flags of a second server', () => {
  beforeAll(async () => {
    await plane.startServer({
      'etcd-prefix': '/second',
      'tls-cipher-suites': 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
      'goaway-chance': '0.02',
      'request-timeout': '1s',
    });
  });

  it('bound requests in time', async () => {
    const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
    const rule = {
      apiGroups: [''],
      apiVersions: ['v1'],
      operations: ['CREATE'],
      resources: ['replicationcontrollers'],
    };
    const hook = {
      name: 'slow.example.com',
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      clientConfig: { url: `${other.url}/never`, caBundle: Buffer.from(other.ca).toString('base64') },
      rules: [rule],
    };
    // On a slow machine the second may be over before the hook is made.
    const made = async () => (await make(hooks, { metadata: { name: 'slow' }, webhooks: [hook] }))?.code;
    await until('there is a hook', async () => [201, 409].includes((await made())!));
    const spec = { template: { metadata: { labels: { a: 'b' } }, spec: pod('x').spec } };
    const slow = await make(inDefault('replicationcontrollers'), { metadata: { name: 'slow' }, spec });
    // The request and the call that it waits for end at the same time: either is told.
    expect([500, 504]).toContain(slow?.code);
  });

  it('choose ciphers, and close connections of HTTP/2 now and then', async () => {
    const chosen = (await handshake({ maxVersion: 'TLSv1.2' })) as TLSSocket;
    expect(chosen.getCipher().standardName).toBe('TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384');
    const one = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' } as const;
    expect(await handshake(one)).toBeInstanceOf(Error);
    const session = connectHttp2(plane.url, { rejectUnauthorized: false });
    let away = false;
    session.on('goaway', () => (away = true)).on('error', () => undefined);
    // One of fifty on average: that none of 3,000 is followed by it does not happen.
    for (let asked = 0; asked < 3_000 && !away && !session.closed && !session.destroyed; asked++)
      await new Promise((resolve) => {
        const stream = session.request({ ':path': '/healthz' });
        stream.on('error', resolve).on('close', resolve).resume();
      });
    expect(away).toBe(true);
    session.destroy();
  });
});

function pod(name: string, container: object = {}) {
  return { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i', ...container }] } };
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`);
