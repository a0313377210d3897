/** Proves that flags of kube-apiserver show in what the server of the pair does. */
import { rmSync } from 'node:fs';
import { request } from 'node:https';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../support/free-ports.ts';
import { assets, ControlPlane, execute, outcome, stopped, until } from './harness.ts';

let folder: string;
beforeAll(async () => {
  folder = await assets();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bodyOf = (answer: { text: string } | undefined): any => JSON.parse(answer!.text);
const namespaces = '/api/v1/namespaces';

describe('flags', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = new ControlPlane(folder);
    await plane.startEtcd();
    await plane.startServer({
      'cors-allowed-origins': '^https://ours\\.example$',
      'strict-transport-security-directives': 'max-age=60,includeSubDomains',
      'emulated-version': '1.35',
      version: 'v1.36.4-mine',
      'default-not-ready-toleration-seconds': '7',
      'default-unreachable-toleration-seconds': '8',
      'endpoint-reconciler-type': 'none',
      'kubernetes-service-node-port': '30123',
      'service-account-jwks-uri': 'https://keys.example/jwks',
      'min-request-timeout': '1',
      'enable-aggregator-routing': 'true',
    });
  });
  afterAll(() => plane.close());

  const headersOf = (method: string, headers: Record<string, string>): Promise<any> =>
    new Promise((resolve, reject) => {
      const options = { method, headers, rejectUnauthorized: false, agent: false };
      const asked = request(`${plane.url}/version`, options, (response) => {
        response.resume();
        response.on('end', () => resolve({ code: response.statusCode, ...response.headers }));
      });
      asked.on('error', reject).end();
    });

  it('for browsers become headers', async () => {
    const origin = 'https://ours.example';
    expect(await headersOf('GET', { origin })).toMatchObject({
      code: 200,
      'access-control-allow-origin': origin,
      'strict-transport-security': 'max-age=60; includeSubDomains',
    });
    expect(await headersOf('OPTIONS', { origin })).toMatchObject({ code: 204 });
    expect(await headersOf('GET', { origin: 'https://other.example' })).not.toHaveProperty(
      'access-control-allow-origin',
    );
  });

  it('of versions show at /version', async () => {
    expect(bodyOf(await plane.get('/version'))).toMatchObject({
      minor: '36',
      gitVersion: 'v1.36.4-mine',
      emulationMajor: '1',
      emulationMinor: '35',
    });
    const other = await outcome(path.join(folder, 'kube-apiserver'), '--version=v1.2.3');
    expect([other.code, other.stderr]).toEqual([
      1,
      'Error: invalid argument "v1.2.3" for "--version" flag: version "v1.2.3" must match major/minor/patch of default version "v1.36.4"\n',
    ]);
  });

  it('change pods, the service and the document of the issuer', async () => {
    const { admin } = plane;
    const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const made = bodyOf(await plane.ask('POST', `${namespaces}/default/pods`, pod, admin));
    expect(made.spec.tolerations.map((one: any) => [one.key, one.tolerationSeconds])).toEqual([
      ['node.kubernetes.io/not-ready', 7],
      ['node.kubernetes.io/unreachable', 8],
    ]);
    const services = `${namespaces}/default/services/kubernetes`;
    expect(bodyOf(await plane.get(services, admin)).spec).toMatchObject({
      type: 'NodePort',
      ports: [{ nodePort: 30123 }],
    });
    const endpoints = `${namespaces}/default/endpoints/kubernetes`;
    expect((await plane.get(endpoints, admin))?.code).toBe(404);
    const issuer = bodyOf(await plane.get('/.well-known/openid-configuration', admin));
    expect(issuer.jwks_uri).toBe('https://keys.example/jwks');
  });

  it('end watches, and let the server answer a while after the signal', async () => {
    const watch = await plane.watch(`${namespaces}?watch=true`, plane.admin);
    expect((await watch.ended).code).toBe(200);
    const server = await plane.startServer({
      'shutdown-delay-duration': '5s',
      'etcd-prefix': '/second',
    });
    const ended = stopped(server, 'SIGTERM');
    await until('it is not ready', async () => (await plane.get('/readyz'))?.code === 500);
    expect((await plane.get('/livez'))?.code).toBe(200);
    expect(await ended).toBe(0);
  });
});

describe('command lines', () => {
  it('as Java writes them are read', async () => {
    const plane = new ControlPlane(folder);
    const [client, peer, port] = await freePorts(3);
    const [certs, data] = [plane.certDir, plane.dataDir];
    const etcd = execute(path.join(folder, 'etcd'), [
      ...['-data-dir', data, '-wal-dir', path.join(plane.folder, 'wal')],
      ...['--listen-client-urls', `http://0.0.0.0:${client}`],
      ...['--advertise-client-urls', `http://0.0.0.0:${client}`],
      ...['--initial-cluster', `default=http://localhost:${peer}`],
      ...['--initial-advertise-peer-urls', `http://localhost:${peer}`],
      ...['--listen-peer-urls', `http://localhost:${peer}`],
    ]);
    const signer = path.join(certs, 'sa-signer.key');
    const server = execute(path.join(folder, 'kube-apiserver'), [
      ...['--cert-dir', certs, '--secure-port', `${port}`, '--etcd-servers', `http://0.0.0.0:${client}`],
      ...['--authorization-mode', 'RBAC', '--service-account-issuer', 'https://localhost'],
      ...['--service-account-signing-key-file', signer, '--service-account-signing-key-file', signer],
      ...['--service-account-key-file', path.join(certs, 'sa-signer.crt')],
      ...['--service-account-issuer', path.join(certs, 'sa-signer.crt')],
      ...['--disable-admission-plugins', 'ServiceAccount', '--client-ca-file'],
      path.join(certs, 'client-cert-auth-ca.crt'),
      ...['--service-cluster-ip-range', '10.0.0.0/24', '--allow-privileged'],
    ]);
    try {
      plane.url = `https://127.0.0.1:${port}`;
      await until('ready', async () => (await plane.get('/readyz', plane.admin))?.code === 200, server.child);
      expect((await plane.get(`${namespaces}/default`, plane.admin))?.code).toBe(200);
    } finally {
      for (const { child } of [server, etcd]) child.kill('SIGKILL');
      await Promise.allSettled([server, etcd]);
      await plane.close();
    }
  });

  it('with several servers of etcd find the one that answers', async () => {
    const plane = new ControlPlane(folder);
    try {
      const [nobody] = await freePorts(1);
      await plane.startEtcd();
      await plane.startServer({ 'etcd-servers': `http://127.0.0.1:${nobody},${plane.etcdUrl}` });
      expect((await plane.get(`${namespaces}/default`, plane.admin))?.code).toBe(200);
      // A second server on the same objects is told at once that the first has them.
      const flags = await plane.serverFlags();
      const second = await outcome(path.join(folder, 'kube-apiserver'), ...flags);
      expect(second.code).toBe(1);
      expect(second.stderr).toMatch(/"command failed" err=".* is in use by process \d+/);
    } finally {
      await plane.close();
    }
  });
});
