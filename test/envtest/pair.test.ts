/** Proves that a test harness made for etcd and kube-apiserver works with the programs of `wherry envtest`. */
import { lstatSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isRelease } from '../support/tier.ts';
import { assets, ControlPlane, execute, getPlain, outcome, stopped, until } from './harness.ts';

let folder: string;
beforeAll(async () => {
  folder = await assets();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = (name: string): string => path.join(folder, name);
const bodyOf = (answer: { text: string } | undefined): any => JSON.parse(answer!.text);
const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const configMap = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
});

describe('the programs', () => {
  it('are executable, and have the names that harnesses look for', () => {
    expect(readdirSync(folder).sort()).toEqual(['etcd', 'kube-apiserver', 'kubectl']);
    for (const name of ['etcd', 'kube-apiserver']) expect(lstatSync(program(name)).mode & 0o777).toBe(0o755);
  });

  it('are written where setup-envtest keeps versions, when asked', async () => {
    const versioned = await assets('--store');
    const [kept] = readdirSync(path.join(versioned, 'k8s'));
    expect(kept).toMatch(/^1\.36\.4-(linux|darwin)-(amd64|arm64)$/);
    expect(readdirSync(path.join(versioned, 'k8s', kept!)).sort()).toEqual([
      'etcd',
      'kube-apiserver',
      'kubectl',
    ]);
    rmSync(versioned, { recursive: true });
  });

  it('are those of several minors, when asked, each under the version that setup-envtest lists', async () => {
    const versioned = await assets('--store', '--kubernetes', '1.27,1.30,1.36');
    const kept = readdirSync(path.join(versioned, 'k8s')).sort();
    expect(kept.map((name) => name.split('-')[0])).toEqual(['1.27.1', '1.30.3', '1.36.2']);
    const server = path.join(versioned, 'k8s', kept[0]!, 'kube-apiserver');
    expect((await outcome(server, '--version')).stdout).toMatch(/^Kubernetes v1\.27\.1\b/);
    rmSync(versioned, { recursive: true });
  });

  it('show their flags at the beginning of lines', async () => {
    const server = await outcome(program('kube-apiserver'), '--help');
    expect([server.code, server.stderr]).toEqual([0, '']);
    expect(server.stdout).toMatch(/^\s*--secure-port\b/m);
    expect(server.stdout).not.toMatch(/^\s*--insecure-port\b/m);
    expect(server.stdout.match(/^\S.* flags:$/gm)?.[0]).toBe('Generic flags:');
    const etcd = await outcome(program('etcd'), '--help');
    expect([etcd.code, /^\s*--unsafe-no-fsync\b/m.test(etcd.stdout)]).toEqual([0, true]);
  });

  it('do not let Node read authorities at their start', () => {
    for (const name of ['etcd', 'kube-apiserver'])
      expect(readFileSync(program(name), 'utf8')).toContain('unset NODE_EXTRA_CA_CERTS\nexec ');
  });

  it('print versions', async () => {
    expect((await outcome(program('kube-apiserver'), '--version')).stdout).toMatch(/^Kubernetes v1\.36\.4\b/);
    expect((await outcome(program('kube-apiserver'), '--version=raw')).stdout).toMatch(
      /^version\.Info\{Major:"1", Minor:"36", /,
    );
    expect((await outcome(program('etcd'), '--version')).stdout).toMatch(/^etcd Version: 3\.5\.\d+\n/);
  });

  const refused: [string[], string][] = [
    [['--nope'], 'Error: unknown flag: --nope\n'],
    [
      ['--secure-port=abc'],
      'Error: invalid argument "abc" for "--secure-port" flag: strconv.ParseInt: parsing "abc": invalid syntax\n',
    ],
    [
      ['--allow-privileged=maybe'],
      'Error: invalid argument "maybe" for "--allow-privileged" flag: strconv.ParseBool: parsing "maybe": invalid syntax\n',
    ],
    [['foo'], 'Error: "kube-apiserver" does not take any arguments, got ["foo"]\n'],
    [['-secure-port=1'], "Error: unknown shorthand flag: 's' in -secure-port=1\n"],
    [['--secure-port'], 'Error: flag needs an argument: --secure-port\n'],
    [['--insecure-port=0'], 'Error: unknown flag: --insecure-port\n'],
  ];
  /** The same function reads all flags; `npm test` tries a name and a value that it does not know. */
  it.each(isRelease ? refused : refused.slice(0, 2))(
    'refuse %j as kube-apiserver does',
    async (args, text) => {
      expect(await outcome(program('kube-apiserver'), ...args)).toEqual({
        code: 1,
        stdout: '',
        stderr: text,
      });
    },
  );

  it('name what is missing, in one line', async () => {
    const { code, stderr } = await outcome(program('kube-apiserver'), '');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^E\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ run\.go:72\] "command failed" err="\[--etcd-servers must be specified, service-account-issuer is a required flag, /,
    );
  });

  it('refuse unknown flags of etcd with code 2', async () => {
    const { code, stderr } = await outcome(program('etcd'), '--nope');
    expect([code, stderr.split('\n')[0]]).toEqual([2, 'flag provided but not defined: -nope']);
    const urls = await outcome(program('etcd'), '-listen-client-urls', 'http://127.0.0.1:0');
    expect([urls.code, urls.stderr]).toEqual([
      1,
      expect.stringContaining(
        '--advertise-client-urls is required when --listen-client-urls is set explicitly',
      ),
    ]);
  });
});

describe('a control plane', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = new ControlPlane(folder);
    await plane.startEtcd();
    await plane.startServer({
      'watch-cache': 'false',
      'feature-gates': 'WatchList=true',
      'runtime-config': 'scheduling.k8s.io/v1=false,v1/podtemplates=false',
    });
  });
  afterAll(() => plane.close());

  it('answers to anybody about its health and version, and nothing else', async () => {
    expect(bodyOf(await getPlain(`${plane.etcdUrl}/health`))).toEqual({ health: 'true', reason: '' });
    for (const where of ['/healthz', '/livez', '/readyz', '/version'])
      expect([where, (await plane.get(where))?.code]).toEqual([where, 200]);
    for (const where of ['/api', '/metrics', '/openapi/v2', '/api/v1/namespaces/default'])
      expect([where, (await plane.get(where))?.code]).toEqual([where, 403]);
  });

  it('has nothing of its own in its folders but objects and authorities', () => {
    const kept = path.join(plane.dataDir, 'wherry', encodeURIComponent('/registry'));
    expect(readdirSync(kept)).not.toContain('kubeconfig');
    expect(readdirSync(path.join(kept, 'pki')).sort()).toEqual([
      'ca.crt',
      'ca.key',
      'front-proxy-ca.crt',
      'front-proxy-ca.key',
    ]);
  });

  it('names flags without a meaning once', () => {
    expect(plane.errors.join('').match(/Flags without a meaning here: .*--watch-cache/g)).toHaveLength(1);
    expect(plane.errors.join('')).toMatch(/secure_serving\.go:214\] Serving securely on 127\.0\.0\.1:\d+\n/);
  });

  it('lets users in by certificates that were made later', async () => {
    const made = await plane.ask('POST', '/api/v1/namespaces', namespace('users'), plane.admin);
    expect(made?.code).toBe(201);
    const nobody = plane.user('somebody', 'a-group');
    expect((await plane.get('/api/v1/namespaces/users', nobody))?.code).toBe(403);
    const review = bodyOf(
      await plane.ask(
        'POST',
        '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
        nobody,
      ),
    );
    expect(review.status.userInfo).toMatchObject({
      username: 'somebody',
      groups: ['a-group', 'system:authenticated'],
    });
  });

  it('does not let in certificates of others, or that have expired', async () => {
    for (const user of [
      plane.foreignUser('admin', 'system:masters'),
      plane.formerUser('admin', 'system:masters'),
    ])
      for (const where of ['/healthz', '/api/v1/namespaces'])
        expect([where, (await plane.get(where, user))?.code]).toEqual([where, 401]);
  });

  it('serves neither groups nor resources that are switched off', async () => {
    const groups = bodyOf(await plane.get('/apis', plane.admin)).groups.map(({ name }: any) => name);
    expect(groups).not.toContain('scheduling.k8s.io');
    expect((await plane.get('/apis/scheduling.k8s.io/v1/priorityclasses', plane.admin))?.code).toBe(404);
    expect((await plane.get('/api/v1/podtemplates', plane.admin))?.code).toBe(404);
  });

  it('starts with what a real one has, and no more', async () => {
    const names = async (where: string): Promise<string[]> =>
      bodyOf(await plane.get(where, plane.admin)).items.map(({ metadata }: any) => metadata.name);
    expect(await names('/api/v1/namespaces')).toEqual(
      expect.arrayContaining(['default', 'kube-node-lease', 'kube-public', 'kube-system']),
    );
    for (const none of ['serviceaccounts', 'secrets', 'nodes', 'events', 'pods'])
      expect([none, await names(`/api/v1/${none}`)]).toEqual([none, []]);
    const service = bodyOf(await plane.get('/api/v1/namespaces/default/services/kubernetes', plane.admin));
    expect(service.spec.clusterIP).toBe('10.0.0.1');
  });

  it('leaves pods and statuses to the suite', async () => {
    const labels = { app: 'a' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd' },
      spec: { selector: { matchLabels: labels }, template },
    };
    const deployments = '/apis/apps/v1/namespaces/default/deployments';
    expect((await plane.ask('POST', deployments, deployment, plane.admin))?.code).toBe(201);
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: template.spec };
    const pods = '/api/v1/namespaces/default/pods';
    expect((await plane.ask('POST', pods, pod, plane.admin))?.code).toBe(201);
    const removed = await plane.ask('DELETE', `${pods}/p`, undefined, plane.admin);
    expect([removed?.code, (await plane.get(`${pods}/p`, plane.admin))?.code]).toEqual([200, 404]);
    expect(bodyOf(await plane.get(`${deployments}/d`, plane.admin)).status).toEqual({});
  });

  it('empties deleted namespaces', async () => {
    await plane.ask('POST', '/api/v1/namespaces', namespace('going'), plane.admin);
    await plane.ask('POST', '/api/v1/namespaces/going/configmaps', configMap('c'), plane.admin);
    const going = bodyOf(await plane.ask('DELETE', '/api/v1/namespaces/going', undefined, plane.admin));
    expect(going.status.phase).toBe('Terminating');
    await until(
      'the namespace is gone',
      async () => (await plane.get('/api/v1/namespaces/going', plane.admin))?.code === 404,
    );
  });

  it('lets a suite finalize namespaces that it has deleted, whether they are newer meanwhile or gone', async () => {
    for (const [name, isAwaited] of [
      ['raced', false],
      ['emptied', true],
    ] as const) {
      const path = `/api/v1/namespaces/${name}`;
      await plane.ask('POST', '/api/v1/namespaces', namespace(name), plane.admin);
      const deleted = bodyOf(await plane.ask('DELETE', path, undefined, plane.admin));
      const isGone = async () => (await plane.get(path, plane.admin))?.code === 404;
      if (isAwaited) await until('the namespace is gone', isGone);
      const finalized = { ...deleted, spec: { finalizers: [] } };
      const reply = await plane.ask('PUT', `${path}/finalize`, finalized, plane.admin);
      expect([reply?.code, bodyOf(reply).metadata.uid]).toEqual([200, deleted.metadata.uid]);
      await until('the namespace is gone', isGone);
    }
  });

  it('collects dependents of deleted owners, and never those of made-up ones', async () => {
    const maps = '/api/v1/namespaces/default/configmaps';
    const owner = bodyOf(await plane.ask('POST', maps, configMap('owner'), plane.admin));
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner' };
    const owned = configMap('owned', { ownerReferences: [{ ...reference, uid: owner.metadata.uid }] });
    const lone = configMap('lone', { ownerReferences: [{ ...reference, name: 'x', uid: 'made-up' }] });
    for (const one of [owned, lone])
      expect((await plane.ask('POST', maps, one, plane.admin))?.code).toBe(201);
    await plane.ask('DELETE', `${maps}/owner`, undefined, plane.admin);
    await until(
      'the dependent is gone',
      async () => (await plane.get(`${maps}/owned`, plane.admin))?.code === 404,
    );
    expect((await plane.get(`${maps}/lone`, plane.admin))?.code).toBe(200);
  });

  it('issues tokens with the key of the harness', async () => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } };
    await plane.ask('POST', accounts, account, plane.admin);
    const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const { status } = bodyOf(await plane.ask('POST', `${accounts}/robot/token`, asked, plane.admin));
    const [head, claims] = status.token
      .split('.')
      .map((part: string) => Buffer.from(part, 'base64url').toString());
    expect(JSON.parse(head!).alg).toBe('ES256');
    expect(JSON.parse(claims!).iss).toBe(`${plane.url}/`);
  });

  it('says at once when another etcd has the folder, and when a port is taken', async () => {
    const second = await outcome(
      program('etcd'),
      `--data-dir=${plane.dataDir}`,
      '--listen-client-urls=http://127.0.0.1:0',
      '--advertise-client-urls=http://127.0.0.1:0',
      '--listen-peer-urls=http://localhost:0',
    );
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('is in use by process')]);
    const { port } = new URL(plane.url);
    const flags = await plane.serverFlags({ 'secure-port': port, 'etcd-prefix': '/other' });
    const refusedPort = await outcome(program('kube-apiserver'), ...flags);
    plane.url = `https://127.0.0.1:${port}`;
    expect([refusedPort.code, refusedPort.stderr]).toEqual([
      1,
      expect.stringContaining(
        `failed to create listener: failed to listen on 127.0.0.1:${port}: listen tcp 127.0.0.1:${port}: bind: address already in use`,
      ),
    ]);
  });

  it('works many times beside each other', async () => {
    const others = Array.from({ length: isRelease ? 9 : 1 }, () => new ControlPlane(folder));
    try {
      await Promise.all(others.map((one) => one.startEtcd().then(() => one.startServer())));
      const uids = await Promise.all(
        [plane, ...others].map(async (one) => {
          const made = bodyOf(await one.ask('POST', '/api/v1/namespaces', namespace('own'), one.admin));
          return made.metadata.uid;
        }),
      );
      expect(new Set(uids).size).toBe(others.length + 1);
    } finally {
      await Promise.all(others.map((one) => one.close()));
    }
  });
});

describe('stopping and starting', () => {
  it('ends at once with an open watch, keeps objects, finds them again on another port, and makes certificates when there are none', async () => {
    const plane = new ControlPlane(folder);
    try {
      const etcd = await plane.startEtcd();
      const server = await plane.startServer();
      const made = bodyOf(await plane.ask('POST', '/api/v1/namespaces', namespace('kept'), plane.admin));
      const watch = await plane.watch('/api/v1/namespaces?watch=true', plane.admin);
      expect(await stopped(server, 'SIGTERM')).toBe(0);
      // A clean end of the body: the events that had been sent, and no error.
      expect((await watch.ended).code).toBe(200);
      // In an empty folder it makes its certificates itself.
      const fresh = path.join(plane.folder, 'fresh');
      const killed = await plane.startServer({ 'cert-dir': fresh });
      expect(readdirSync(fresh).sort()).toEqual(['apiserver.crt', 'apiserver.key']);
      expect(statSync(path.join(fresh, 'apiserver.key')).mode & 0o777).toBe(0o600);
      expect(
        readFileSync(path.join(fresh, 'apiserver.crt'), 'utf8').match(/BEGIN CERTIFICATE/g),
      ).toHaveLength(2);
      await plane.ask('POST', '/api/v1/namespaces', namespace('written'), plane.admin);
      // Without waiting for the disk, writes survive the process all the same.
      expect(await stopped(killed, 'SIGKILL')).toBe('SIGKILL');
      await plane.startServer();
      expect((await plane.get('/api/v1/namespaces/written', plane.admin))?.code).toBe(200);
      const found = bodyOf(await plane.get('/api/v1/namespaces/kept', plane.admin));
      expect(found.metadata).toEqual(made.metadata);
      expect(statSync(plane.dataDir).mode & 0o777).toBe(0o700);
      expect(await stopped(etcd, 'SIGTERM')).toBe('SIGTERM');
      await until(
        'the server has followed its etcd',
        async () => (await plane.get('/healthz')) === undefined,
      );
    } finally {
      await plane.close();
    }
  });

  it('leaves nothing behind when the harness is killed', async () => {
    const plane = new ControlPlane(folder);
    try {
      // A parent that starts both and is then killed, as a test run is by its user.
      const script = `const { spawn } = require('node:child_process');
        const programs = JSON.parse(process.argv[1]);
        console.log(programs.map(([file, flags]) => spawn(file, flags, { stdio: 'ignore', detached: true }).pid).join());
        setInterval(() => undefined, 1000);`;
      const programs = [
        [program('etcd'), await plane.etcdFlags()],
        [program('kube-apiserver'), await plane.serverFlags()],
      ];
      const parent = execute(process.execPath, ['-e', script, JSON.stringify(programs)]);
      let pids: number[] = [];
      parent.child.stdout!.on('data', (text: string) => (pids = text.split(',').map(Number)));
      await until('the server is healthy', async () => (await plane.get('/healthz'))?.code === 200);
      parent.child.kill('SIGKILL');
      await parent.catch(() => undefined);
      await until('both have noticed', () => pids.length === 2 && !pids.some(alive));
    } finally {
      await plane.close();
    }
  });
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
