/**
 * Proves that the Dockerfile makes an image that runs the cluster without root and as one process, says when it is
 * healthy, and ends on SIGTERM; that it can be run by any user on a disk that cannot be written; and that the compose
 * file runs three servers on etcd behind HAProxy. Images are made of programs of this machine.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { problem as networkProblem } from '../../src/node/network/netns.fixture.ts';
import { TestDocker } from '../../src/node/runtime/docker/docker.fixture.ts';
import { programOf, tryEngine } from '../../src/node/runtime/engine/engine.fixture.ts';
import { etcds } from '../../src/store/etcd/etcd-server.fixture.ts';
import { kubectls } from '../kubectl/programs.ts';
import { freePorts } from '../support/free-ports.ts';
import { DockerCommand } from '../support/local-images.ts';

/** Beyond Node: the package, what it depends on, and nothing of the build. */
const addedBytesMax = 50_000_000;
const patienceMs = 120_000;
const image = 'localhost/wherry:test';
const network = 'wherry-test';

const missing = programOf('docker') ? networkProblem : 'there is no command called docker';
const { engine, problem, note } = await tryEngine('docker', () => TestDocker.start(), missing);
const folder = mkdtempSync(path.join(tmpdir(), 'wherry-image-'));
const docker = new DockerCommand(engine?.socket ?? '', folder);

interface Inspected {
  readonly State: {
    readonly ExitCode: number;
    readonly Running: boolean;
    readonly Health: { readonly Status: string };
  };
  readonly NetworkSettings: { readonly Ports: Record<string, { readonly HostPort: string }[]> };
  readonly Size: number;
  readonly Config: {
    readonly User: string;
    readonly Entrypoint: string[];
    readonly Cmd: string[];
    readonly ExposedPorts: object;
  };
}

/** Runs a container until the test ends. */
function container(flags: readonly string[], ...args: string[]): string {
  const id = docker.run('run', '-d', ...flags, image, ...args).trim();
  onTestFinished(() => void docker.run('rm', '-f', id));
  return id;
}

async function healthy(id: string): Promise<void> {
  await expect
    .poll(() => docker.inspect<Inspected>(id).State, { timeout: patienceMs, interval: 200 })
    .toMatchObject({ Running: true, Health: { Status: 'healthy' } });
}

const published = ['--network', network, '--publish', '127.0.0.1::6443'];

/** Calls the cluster with kubectl, over the port that this machine has for the secure door. */
function kubectl(kubeconfig: string): (...args: string[]) => string {
  const file = path.join(folder, 'kubeconfig');
  writeFileSync(file, kubeconfig, { mode: 0o600 });
  return (...args) =>
    execFileSync(kubectls.at(-1)!.program, ['--kubeconfig', file, ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
}

function kubectlOf(id: string): (...args: string[]) => string {
  const [{ HostPort }] = docker.inspect<Inspected>(id).NetworkSettings.Ports['6443/tcp'] as [
    { HostPort: string },
  ];
  return kubectl(docker.run('exec', id, 'wherry', 'kubeconfig', '--server', `https://127.0.0.1:${HostPort}`));
}

beforeAll(async () => {
  if (!engine) return;
  docker.run('network', 'create', network);
  await docker.importBase('localhost/node:test');
  docker.build(image, 'localhost/node:test');
}, 600_000);

afterAll(async () => {
  if (engine) docker.run('network', 'rm', network);
  await engine?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(problem)(`the image${note}`, () => {
  it('is small, without root, and runs the cluster by default', () => {
    const { Config, Size } = docker.inspect<Inspected>(image);
    expect(Config).toMatchObject({
      User: '1000',
      Entrypoint: ['wherry'],
      Cmd: ['up'],
      ExposedPorts: { '6443/tcp': {} },
    });
    // The base has the dependencies a second time, for its npm: less is added than this.
    expect(Size - docker.inspect<Inspected>('localhost/node:test').Size).toBeLessThan(addedBytesMax);
  });

  it('runs one process, and is reached over its port with a kubeconfig of its own', async () => {
    const id = container(published);
    await healthy(id);
    const run = kubectlOf(id);
    expect(run('get', 'nodes', '-o', 'name')).toMatch(/^node\//);
    expect(docker.run('exec', id, 'wherry', 'status', '-o', 'json')).toContain('"running"');
    const [first, ...others] = docker.run('exec', id, 'ps', '-o', 'pid,user,args').split('\n').slice(1);
    expect(first).toMatch(/^\s*1 (?:1000|web)\s+node .*wherry up$/);
    // The shell that ends processes of pods when the server is killed; it stands beside them, not before.
    expect(
      others.filter(
        (line) => line && !/ ps -o| node -e | \/bin\/sh -c\s+trap /.test(line) && /^\s*\d/.test(line),
      ),
    ).toEqual([]);
    run('run', 'sleeper', '--image=any', '--restart=Never', '--command', '--', 'sleep', '1000');
    run('wait', '--for=condition=Ready', 'pod/sleeper', '--timeout=60s');
    docker.run('stop', '--time', '60', id);
    expect(docker.inspect<Inspected>(id).State.ExitCode).toBe(0);
    expect(docker.run('logs', id)).toContain('Stopping 1 pod, Ctrl-C again to leave at once');
    docker.run('start', id);
    await healthy(id);
    expect(kubectlOf(id)('get', 'pod', 'sleeper', '-o', 'name')).toBe('pod/sleeper\n');
  });

  it('runs as any user with a disk that cannot be written, but for its folder', async () => {
    const locked = [
      '--read-only',
      '--tmpfs',
      '/data:mode=0770,gid=0',
      '--user',
      '12345:0',
      '--cap-drop',
      'ALL',
    ];
    const id = container(
      [...published, ...locked],
      'up',
      '--simulated-nodes',
      '2',
      '--in-memory',
      '--write-kubeconfig',
      '/data/k',
    );
    await healthy(id);
    expect(docker.run('exec', id, 'id', '-u')).toBe('12345\n');
  });

  it('serves without nodes', async () => {
    const id = container(published, 'serve');
    await healthy(id);
    const run = kubectlOf(id);
    expect(run('get', 'namespaces', '-o', 'name')).toContain('namespace/default');
    expect(run('get', 'nodes', '-o', 'name')).toBe('');
  });

  it('becomes unhealthy when the server does not answer', async () => {
    const id = container(
      [
        '--network',
        network,
        '--health-interval=1s',
        '--health-retries=1',
        '--health-timeout=2s',
        '--health-start-period=1s',
      ],
      'serve',
    );
    await healthy(id);
    docker.run('kill', '--signal', 'STOP', id);
    onTestFinished(() => void docker.run('kill', '--signal', 'CONT', id));
    await expect
      .poll(() => docker.inspect<Inspected>(id).State.Health.Status, { timeout: patienceMs, interval: 200 })
      .toBe('unhealthy');
  });

  it('has the programs for suites that start kube-apiserver', () => {
    const script = 'wherry envtest /data/bin && ls /data/bin && /data/bin/kube-apiserver --version';
    const printed = docker.run('run', '--rm', '--network', 'none', '--entrypoint', 'sh', image, '-c', script);
    expect(printed).toMatch(/etcd\nkube-apiserver\nkubectl\nKubernetes v1\./);
  });
});

const compose = programOf('docker-compose');
const composeProblem =
  problem ??
  (compose ? (programOf('haproxy') ? undefined : 'there is no haproxy') : 'there is no docker-compose');

describe.skipIf(composeProblem ?? etcds.length === 0)(
  `the compose file${composeProblem ? ` (left out: ${composeProblem})` : ''}`,
  () => {
    it('runs three servers behind a balancer, of which one may be lost', async () => {
      await docker.importProgram('localhost/etcd:test', etcds.at(-1)![1]);
      const configuration = ['-W', '-db', '-f', '/usr/local/etc/haproxy/haproxy.cfg'];
      await docker.importProgram('localhost/haproxy:test', programOf('haproxy')!, ...configuration);
      const [port] = await freePorts(1);
      const env = {
        ...docker.env,
        WHERRY_IMAGE: image,
        ETCD_IMAGE: 'localhost/etcd:test',
        HAPROXY_IMAGE: 'localhost/haproxy:test',
        PORT: String(port),
      };
      const cwd = path.join(import.meta.dirname, '../../examples/replicas/compose');
      const run = (...args: string[]): string =>
        execFileSync(compose!, ['-p', 'wherry-test', ...args], { cwd, env, encoding: 'utf8', stdio: 'pipe' });
      onTestFinished(() => void run('down', '-v'));
      run('up', '-d');
      const servers = ['wherry-1', 'wherry-2', 'wherry-3'];
      for (const server of servers) await healthy(run('ps', '-q', server).trim());
      const call = kubectl(
        run('exec', '-T', 'wherry-1', 'wherry', 'kubeconfig', '--server', `https://127.0.0.1:${port}`),
      );
      await expect
        .poll(() => call('create', 'configmap', 'kept'), { timeout: patienceMs })
        .toContain('created');
      run('kill', 'wherry-1');
      for (let round = 0; round < servers.length; round++)
        await expect
          .poll(() => call('get', 'configmap', 'kept', '-o', 'name'), { timeout: patienceMs })
          .toBe('configmap/kept\n');
    });
  },
);
