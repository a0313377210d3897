/**
 * Proves how pods in containerd are connected where Wherry does not do it: by plugins that an operator has configured,
 * which are used as they are, and not at all with `--pod-network host`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../../test/support/free-ports.ts';
import { problem as networkProblem, serviceRange } from '../../node/network/netns.fixture.ts';
import { TestContainerd } from '../../node/runtime/cri/containerd.fixture.ts';
import { programOf, tryEngine } from '../../node/runtime/engine/engine.fixture.ts';
import type { Cluster } from '../cluster.ts';
import { start } from '../start.ts';
import { cleanUp } from './cleanup.ts';
import { eventually, PodBench, ready, sh } from './pod-bench.fixture.ts';

const bridge = `whcni${process.pid}`;
/** Another one in every process, so that runs at the same time do not meet. */
const network = `10.199.${process.pid % 256}`;
const foreign = JSON.stringify({
  cniVersion: '0.4.0',
  name: bridge,
  plugins: [
    {
      type: 'bridge',
      bridge,
      isGateway: true,
      ipam: { type: 'host-local', subnet: `${network}.0/24`, routes: [{ dst: '0.0.0.0/0' }] },
    },
  ],
});

const { engine, problem, note } = await tryEngine('containerd', () => TestContainerd.start(), networkProblem);

describe.skipIf(problem)(`the network of pods in containerd${note}`, () => {
  let plugins = '';
  let folder = '';
  let cluster: Cluster | undefined;
  const errors: Error[] = [];

  const open = async (name: string, podNetwork: 'netns' | 'host'): Promise<PodBench> => {
    cluster = await start({
      store: 'memory',
      serviceClusterIPRange: serviceRange,
      node: {
        name,
        podNetwork,
        folder: join(folder, 'node'),
        dockerSocket: 'off',
        criSocket: engine!.socket,
      },
      onError: (error) => errors.push(error),
    });
    await cluster.nodesReady;
    return new PodBench(cluster, 'cri', folder, name);
  };
  const close = async (): Promise<void> => {
    await cluster?.close();
    cluster = undefined;
  };
  /** A pod with a page. */
  const serve = async (bench: PodBench, port: number, hostPort?: number) => {
    const script = `mkdir /tmp/www; echo it answers > /tmp/www/index.html; exec busybox httpd -f -p ${port} -h /tmp/www`;
    const ports = [{ containerPort: port, ...(hostPort ? { hostPort } : {}) }];
    const readinessProbe = { httpGet: { port, path: '/' }, periodSeconds: 1, timeoutSeconds: 20 };
    await bench.create('web', { containers: [sh(script, { ports, readinessProbe })] });
    const { status } = await bench.until('web', ready);
    const path = `/api/v1/namespaces/default/pods/${bench.name('web')}:${port}/proxy/`;
    await eventually(async () => expect(await bench.get(path)).toBe('it answers\n'));
    return status!;
  };

  beforeAll(async () => {
    plugins = join(engine!.folder, 'cni');
    folder = await mkdtemp(join(tmpdir(), 'wherry-crinetworks-'));
  });

  afterAll(async () => {
    await close();
    await engine?.close();
    const ip = programOf('ip');
    if (ip) spawnSync(ip, ['link', 'del', bridge]);
    await rm(`/var/lib/cni/networks/${bridge}`, { recursive: true, force: true });
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('is that of the plugins somebody has configured, whose file stays as it is', async () => {
    await writeFile(join(plugins, '10-theirs.conflist'), foreign);
    const bench = await open('theirs', 'netns');
    const [hostPort] = await freePorts(1);
    const status = await serve(bench, 18090, hostPort);
    expect(status.podIP).toMatch(new RegExp(`^${network.replaceAll('.', '\\.')}\\.\\d+$`));
    await eventually(async () =>
      expect(await (await fetch(`http://127.0.0.1:${hostPort}/`)).text()).toBe('it answers\n'),
    );
    const { stdout } = await bench.exec('web', ['cat', '/etc/hosts']);
    expect(stdout).toContain(`${status.podIP}\t${bench.name('web')}`);
    await bench.remove('web');
    await eventually(async () => expect(await engine!.containers()).toEqual([]));
    await close();
    const args = { dataDir: folder, dockerSocket: 'off', criSocket: engine!.socket, all: false };
    expect(await cleanUp(args)).toBe('Removed 0 containers\n');
    expect(await readdir(plugins)).toEqual(['10-theirs.conflist']);
    expect(await readFile(join(plugins, '10-theirs.conflist'), 'utf8')).toBe(foreign);
  });

  it('is that of the machine with --pod-network host, and nothing is configured', async () => {
    await rm(join(plugins, '10-theirs.conflist'));
    const bench = await open('none', 'host');
    const status = await serve(bench, (await freePorts(1))[0]!);
    expect(status.podIP).toBe(status.hostIP);
    const { stdout } = await bench.exec('web', ['readlink', '/proc/1/ns/net']);
    expect(stdout.trim()).toBe(await readlink('/proc/self/ns/net'));
    await bench.remove('web');
    await eventually(async () => expect(await engine!.containers()).toEqual([]));
    await close();
    expect(await readdir(plugins)).toEqual([]);
  });

  it('has reported no error', () => {
    expect(errors.map(({ message }) => message)).toEqual([]);
  });
});
