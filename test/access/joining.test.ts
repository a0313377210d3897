/**
 * Proves how a node joins over real TLS: the one command, what it is refused with, that its certificates are its own and
 * stay, that both sides verify each other, and that programs in its pods find the API.
 */
import { execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CertificateSigningRequest, ConfigMap, Node, Pod } from '../../src/api/generated/types.ts';
import { Client } from '../../src/client/client.ts';
import { claims, configMaps, nodes, pods, signingRequests, volumes } from '../../src/client/resources.ts';
import { runToken, type TokenOptions } from '../../src/cluster/access/bootstrap-tokens.ts';
import {
  type Cluster,
  type NodeOptions,
  type RunningNode,
  start,
  startNode,
} from '../../src/cluster/index.ts';
import { readAuthority } from '../../src/pki/cluster-certificates.ts';
import { issueServingCertificate } from '../../src/pki/node-certificates.ts';
import { isRelease } from '../support/tier.ts';

const waitMs = { timeout: 60_000, interval: 50 };
/** Of this test alone: addresses of services are addresses of the machine while a node runs. */
const serviceRange = `10.${randomInt(100, 200)}.${randomInt(0, 255)}.0/24`;
let folder: string;
let cluster: Cluster;
let admin: Client;
const running: RunningNode[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-join-'));
  cluster = await start({
    dataDir: path.join(folder, 'server'),
    secure: true,
    serviceClusterIPRange: serviceRange,
  });
  admin = new Client(cluster.url);
});
afterEach(async () => {
  for (const node of running.splice(0)) await node.close();
});
afterAll(async () => {
  admin.close();
  await cluster.close();
  await rm(folder, { recursive: true, force: true });
});

const asked: TokenOptions = {
  action: 'create',
  dataDir: '',
  token: undefined,
  ttlMs: 3_600_000,
  description: undefined,
  groups: undefined,
  printJoinCommand: true,
};

/** What the command that is printed says. */
async function joining(
  options: Partial<TokenOptions> = {},
): Promise<{ token: string; caHash: string; server: string }> {
  const { text } = await runToken({ ...asked, dataDir: path.join(folder, 'server'), ...options });
  const [, server, token, caHash] =
    /^wherry node --server (https:\S+) --token (\S+) --ca-hash (sha256:[0-9a-f]{64})\n$/.exec(text)!;
  return { server: server!, token: token!, caHash: caHash! };
}

const optionsOf = (name: string, join: NodeOptions['join']): NodeOptions => ({
  name,
  folder: path.join(folder, name),
  podNetwork: 'host',
  address: '127.0.0.1',
  kubeletPort: 0,
  serviceRange,
  ...(join ? { join } : {}),
});

async function join(name: string, how?: NodeOptions['join']): Promise<RunningNode> {
  const node = await startNode(cluster.secureUrl!, optionsOf(name, how));
  running.push(node);
  return node;
}

const nodePem = (name: string, which: string): Promise<string> =>
  readFile(path.join(folder, name, 'pki', `kubelet-${which}-current.pem`), 'utf8');

describe('a node', () => {
  it('joins with the command that is printed, and stays what it is', async () => {
    const { token, caHash, server } = await joining({ description: 'for a test' });
    expect(server).toBe(cluster.secureUrl);
    await join('n1', { token, caHash });
    const registered = (await admin.get(nodes, undefined, 'n1')) as Node;
    expect(registered.status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
    const requests = (await admin.list(signingRequests)).items as CertificateSigningRequest[];
    const own = requests.find(({ spec }) => spec?.username?.startsWith('system:bootstrap:'))!;
    expect(own.status?.conditions).toMatchObject([{ type: 'Approved', reason: 'AutoApproved' }]);

    // The serving certificate is signed by the cluster, too.
    await vi.waitFor(() => nodePem('n1', 'server'), waitMs);
    await vi.waitFor(
      async () => expect(await readdir(path.join(folder, 'n1', 'pki'))).toHaveLength(3),
      waitMs,
    );

    // Files are for the user who runs the node alone, and the token is in none of them.
    const first = await nodePem('n1', 'client');
    const files = await readdir(path.join(folder, 'n1', 'pki'));
    for (const file of files) {
      const whole = path.join(folder, 'n1', 'pki', file);
      expect((await stat(whole)).mode & 0o777).toBe(0o600);
      expect(await readFile(whole, 'utf8')).not.toContain(token);
    }

    // Started again, without a token: the same certificates.
    const serving = await nodePem('n1', 'server');
    await running.pop()!.close();
    await join('n1');
    expect([await nodePem('n1', 'client'), await nodePem('n1', 'server')]).toEqual([first, serving]);

    // And it is restricted to its own objects.
    const pem = first.slice(0, first.indexOf('-----BEGIN PRIVATE KEY'));
    const ca = await readFile(path.join(folder, 'n1', 'pki', 'ca.crt'), 'utf8');
    const itself = new Client(cluster.secureUrl!, { ca, cert: pem, key: first });
    await expect(itself.list(nodes)).rejects.toThrow('only its own Node object');
    itself.close();
  }, 120_000);

  it('of version 0.2.0 gets another serving certificate when it is started again', async () => {
    const { token, caHash } = await joining();
    await join('old', { token, caHash });
    await vi.waitFor(() => nodePem('old', 'server'), waitMs);
    await running.pop()!.close();
    // As it was left by that version: signed by the authority of the cluster, which did not come with it.
    const authority = readAuthority(path.join(folder, 'server', 'pki'))!;
    const former = issueServingCertificate(authority.pem, { names: ['old'], ips: ['127.0.0.1'] });
    const file = path.join(folder, 'old', 'pki', 'kubelet-server-current.pem');
    await writeFile(file, former.cert + former.key);
    await join('old');
    await vi.waitFor(async () => expect(await nodePem('old', 'server')).not.toContain(former.cert), waitMs);
    const health = await fetch(`${cluster.url}/api/v1/nodes/old/proxy/healthz`);
    expect([health.status, await health.text()]).toEqual([200, 'ok']);
  }, 120_000);

  it('is told what is wrong', async () => {
    const { token, caHash } = await joining();
    const [id] = token.split('.');
    const refused = (how: NodeOptions['join']) =>
      expect(startNode(cluster.secureUrl!, optionsOf('n2', how))).rejects;
    await refused(undefined).toThrow('node n2 does not belong to a cluster yet');
    await refused({ token: 'short' }).toThrow('the token must look like');
    await refused({ token: `${id}.aaaaaaaaaaaaaaaa`, caHash }).toThrow('is not signed with this token');
    await refused({ token: 'zzzzzz.aaaaaaaaaaaaaaaa', caHash }).toThrow('does not know the token zzzzzz');
    await refused({ token, caHash: `sha256:${'0'.repeat(64)}` }).toThrow('this is not the cluster');
    await refused({
      token: 'zzzzzz.aaaaaaaaaaaaaaaa',
      caFile: path.join(folder, 'n1', 'pki', 'ca.crt'),
    }).toThrow('does not accept the token');
    const expired = await joining({ ttlMs: -1_000 });
    await refused({ token: expired.token, caHash }).toThrow('or it has expired');
  });

  it('ends with the reason when it is denied', async () => {
    const { token, caHash } = await joining({ groups: ['system:bootstrappers:waiting'] });
    await admin.create(
      { apiVersion: 'rbac.authorization.k8s.io/v1', resource: 'clusterrolebindings' },
      undefined,
      {
        metadata: { name: 'waiting' },
        roleRef: {
          apiGroup: 'rbac.authorization.k8s.io',
          kind: 'ClusterRole',
          name: 'system:node-bootstrapper',
        },
        subjects: [
          { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:bootstrappers:waiting' },
        ],
      },
    );
    const told: string[] = [];
    const joined = startNode(
      cluster.secureUrl!,
      optionsOf('n3', { token, caHash, tell: (message) => void told.push(message) }),
    );
    joined.catch(() => undefined);
    const request = await vi.waitFor(async () => {
      const { items } = await admin.list(signingRequests);
      const found = items.find(({ spec }) => spec?.groups?.includes('system:bootstrappers:waiting'));
      expect(found).toBeDefined();
      return found!;
    }, waitMs);
    await vi.waitFor(() => expect(told[0]).toContain('kubectl certificate approve'), waitMs);
    request.status = {
      conditions: [{ type: 'Denied', status: 'True', reason: 'Unknown', message: 'who is that?' }],
    };
    await admin.replace(signingRequests, undefined, request, 'approval');
    await expect(joined).rejects.toThrow('was denied: Unknown: who is that?');
  });
});

describe('both sides', () => {
  /** Runs the pods of all these tests. */
  let node: RunningNode;
  beforeAll(async () => {
    const { token, caHash } = await joining();
    node = await startNode(cluster.secureUrl!, optionsOf('n5', { token, caHash }));
  });
  afterAll(() => node.close());

  it('a server with a foreign authority is not believed', async () => {
    const { token, caHash } = await joining();
    const { data } = (await admin.get(configMaps, 'kube-public', 'cluster-info')) as ConfigMap;
    const other = await start({ dataDir: path.join(folder, 'other'), secure: true });
    const pki = path.join(folder, 'other', 'pki');
    const [cert, key] = await Promise.all(
      ['apiserver.crt', 'apiserver.key'].map((file) => readFile(path.join(pki, file), 'utf8')),
    );
    // It hands on what the cluster signed, and has no certificate of its authority.
    const server: Server = createServer({ cert, key }, (_request, response) =>
      response.end(JSON.stringify({ data })),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as { port: number };
      const joined = startNode(`https://127.0.0.1:${port}`, optionsOf('n4', { token, caHash }));
      await expect(joined).rejects.toThrow('cannot be reached');
    } finally {
      server.close();
      server.closeAllConnections();
      await other.close();
    }
  });

  it('the API server reaches pods of the node, and users of the cluster do not', async () => {
    await admin.create(pods, 'default', {
      metadata: { name: 'words' },
      spec: {
        nodeName: 'n5',
        restartPolicy: 'Never',
        containers: [{ name: 'c', image: 'x', command: ['sh', '-c', 'echo hello from the pod'] }],
      },
    } as Pod);
    const log = async () => (await fetch(`${cluster.url}/api/v1/namespaces/default/pods/words/log`)).text();
    await vi.waitFor(async () => expect(await log()).toBe('hello from the pod\n'), waitMs);

    const port = (await admin.get(nodes, undefined, 'n5')).status?.daemonEndpoints?.kubeletEndpoint?.Port;
    // Its certificate is of the authority for nodes, which comes with it, and for its own name.
    const [, ca = ''] = (await nodePem('n5', 'server')).match(
      /-----BEGIN CERT.+?-----END CERTIFICATE-----/gs,
    )!;
    const servername = 'n5.nodes.wherry.internal';
    const user = cluster.kubeconfigFor('wherry-admin');
    const { users } = JSON.parse(user) as { users: { user: Record<string, string> }[] };
    const text = (name: string): string => Buffer.from(users[0]!.user[name]!, 'base64').toString('utf8');
    const certificates = { cert: text('client-certificate-data'), key: text('client-key-data') };
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: port!, ca, servername, ...certificates }, () =>
        socket.write('GET /pods HTTP/1.1\r\nHost: n5\r\nConnection: close\r\n\r\n'),
      );
      socket
        .setEncoding('utf8')
        .once('data', (data) => resolve(String(data)))
        .once('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('makes volumes for claims on its own disk, and removes them', async () => {
    const storageClass = {
      metadata: { name: 'on-disk' },
      provisioner: 'wherry.dev/local-path',
      volumeBindingMode: 'WaitForFirstConsumer',
    };
    await admin.create(
      { apiVersion: 'storage.k8s.io/v1', resource: 'storageclasses' },
      undefined,
      storageClass,
    );
    const spec = {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName: 'on-disk',
    };
    await admin.create(claims, 'default', { metadata: { name: 'data' }, spec });
    const command = ['sh', '-c', 'echo written > "$WHERRY_ROOT/data/file"'];
    await admin.create(pods, 'default', {
      metadata: { name: 'writer' },
      spec: {
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        nodeSelector: { 'kubernetes.io/hostname': 'n5' },
        containers: [
          { name: 'c', image: 'host', command, volumeMounts: [{ name: 'data', mountPath: '/data' }] },
        ],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
      },
    });
    const phaseOf = async () => (await admin.get(pods, 'default', 'writer')).status?.phase;
    await expect.poll(phaseOf, waitMs).toBe('Succeeded');
    const { spec: bound } = await admin.get(claims, 'default', 'data');
    const volume = path.join(folder, 'n5', 'volumes', bound!.volumeName!);
    expect(await readFile(path.join(volume, 'file'), 'utf8')).toBe('written\n');
    await admin.delete(pods, 'default', 'writer', { gracePeriodSeconds: 0 });
    await admin.delete(claims, 'default', 'data');
    await expect.poll(() => readdir(path.dirname(volume)), waitMs).toEqual([]);
    await expect.poll(async () => (await admin.list(volumes)).items, waitMs).toEqual([]);
  }, 120_000);

  it('a program in a pod finds the API, and may do what its account may', async () => {
    const script = `
      const { readFileSync } = require('node:fs'), https = require('node:https');
      const at = (name) => readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/' + name, 'utf8');
      const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
      const headers = { authorization: 'Bearer ' + at('token') };
      for (const resource of ['pods', 'secrets']) {
        const path = '/api/v1/namespaces/' + at('namespace') + '/' + resource;
        https
          .get({ host, port, path, ca: at('ca.crt'), headers }, (answer) => {
            console.log(resource, answer.statusCode);
            answer.resume();
          })
          .on('error', (error) => console.log(resource, error.message));
      }`;
    await admin.create({ apiVersion: 'rbac.authorization.k8s.io/v1', resource: 'rolebindings' }, 'default', {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }],
    });
    await admin.create(pods, 'default', {
      metadata: { name: 'program' },
      spec: {
        nodeName: 'n5',
        restartPolicy: 'Never',
        containers: [{ name: 'c', image: 'x', command: [process.execPath, '-e', script] }],
      },
    } as Pod);
    const log = async () => (await fetch(`${cluster.url}/api/v1/namespaces/default/pods/program/log`)).text();
    await vi.waitFor(async () => {
      const lines = (await log()).trim().split('\n').sort();
      expect(lines).toEqual(['pods 200', 'secrets 403']);
    }, waitMs);
  });
});

describe('as two processes', () => {
  const cli = new URL('../../dist/cli.cjs', import.meta.url).pathname;
  const run = promisify(execFile);

  it('wherry token create prints what wherry node takes', async () => {
    const data = path.join(folder, 'process');
    const server = spawn(process.execPath, [
      cli,
      'serve',
      '--port',
      '0',
      '--secure-port',
      '0',
      '--secure-host',
      '127.0.0.1',
      '--data-dir',
      data,
    ]);
    let node: ReturnType<typeof spawn> | undefined;
    const ready = (child: ReturnType<typeof spawn>, text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        let seen = '';
        const take = (chunk: Buffer): void => {
          seen += String(chunk);
          if (seen.includes(text)) resolve();
        };
        child.stdout!.on('data', take);
        child.stderr!.on('data', take);
        child.once('exit', () => reject(new Error(seen)));
      });
    const ended = (child: ReturnType<typeof spawn> | undefined): Promise<unknown> | undefined => {
      if (!child || child.exitCode !== null) return undefined;
      const exit = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      return exit;
    };
    try {
      await ready(server, "Administrator's kubeconfig");
      const { stdout } = await run(process.execPath, [cli, 'token', 'create', '--data-dir', data]);
      const [, ...words] = stdout.trim().split(' ');
      const token = words[words.indexOf('--token') + 1]!;
      const nodeWith = (given: string): ReturnType<typeof spawn> =>
        spawn(process.execPath, [
          cli,
          ...words.map((word) => (word === token ? given : word)),
          '--data-dir',
          path.join(folder, `elsewhere-${joined.length}`),
          '--node-name',
          'far',
          '--kubelet-port',
          '0',
          '--pod-network',
          'host',
        ]);
      const joined: string[] = [];
      const tokenFile = path.join(folder, 'token');
      await writeFile(tokenFile, `${token}\n`);
      // As an argument, from standard input, and from a file; other users of the machine see it in neither case.
      for (const given of [token, '-', ...(isRelease ? [tokenFile] : [])]) {
        node = nodeWith(given);
        node.stdin!.end(`${token}\n`);
        await ready(node, 'Node far at');
        if (process.platform === 'linux')
          for (const shown of ['cmdline', 'environ', 'comm'])
            expect(await readFile(`/proc/${node.pid}/${shown}`, 'latin1')).not.toContain(token);
        joined.push(given);
        await ended(node);
      }
      const listed = await run(process.execPath, [cli, 'token', 'list', '--data-dir', data]);
      expect(listed.stdout).toMatch(/^TOKEN +ENDS +GROUPS +DESCRIPTION\n[a-z0-9]{6} +23h/);
    } finally {
      await ended(node);
      await ended(server);
    }
  }, 120_000);
});
