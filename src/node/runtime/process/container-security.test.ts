/** Proves what a security context does on a machine with namespaces: capabilities, a read-only root, kernel parameters. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { SecurityContext } from '../../../api/generated/types.ts';
import { Cgroups } from '../../machine/cgroup.ts';
import { HostNetwork } from '../../network/pod-network.ts';
import { Spawner } from '../../process/spawner.ts';
import { containerUser } from './container-user.ts';
import { probeNamespaces } from './namespace-root.ts';
import { PodSysctls } from './pod-sysctls.ts';
import { ProcessPod, TestSession } from './process-pod.fixture.ts';

const spawner = new Spawner();
const namespaces = await probeNamespaces(spawner);
afterAll(() => spawner.close());

const shmForced = '/proc/sys/kernel/shm_rmid_forced';

describe.runIf(namespaces && spawner.tool('setpriv'))('as root', () => {
  let pod: ProcessPod;
  beforeAll(async () => {
    pod = await ProcessPod.make();
  });
  afterEach(() => pod.clear());
  afterAll(() => pod.close());

  const capabilitiesOf = async (securityContext?: SecurityContext): Promise<bigint> => {
    const container = await pod.shell('grep CapEff /proc/self/status', { container: { securityContext } });
    await container.exited;
    return BigInt(`0x${/CapEff:\s*([0-9a-f]+)/.exec(await pod.log())![1]}`);
  };
  const [netAdmin, netRaw, sysAdmin, chown] = [12n, 13n, 21n, 0n];
  const has = (set: bigint, capability: bigint): boolean => ((set >> capability) & 1n) === 1n;

  it('a container has the capabilities that containers have', async () => {
    const set = await capabilitiesOf();
    expect([chown, netRaw, netAdmin, sysAdmin].map((one) => has(set, one))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('has the user that it asks for, that of its image, or one without rights where it must not be root', async () => {
    const who = async (securityContext: SecurityContext, user?: string): Promise<string> => {
      const image = { entrypoint: [], args: [], ...(user === undefined ? {} : { user }) };
      const container = await pod.shell('echo $(id -u):$(id -g) $HOME', {
        container: { securityContext },
        image,
      });
      expect((await container.exited).exitCode).toBe(0);
      return (await pod.log()).trim();
    };
    const nobody = /^nobody:[^:]*:(\d+):(\d+):[^:]*:([^:]*):/m.exec(readFileSync('/etc/passwd', 'utf8'))!;
    const [, uid, gid, home] = nobody;
    expect(await who({})).toBe('0:0 /');
    expect(await who({ runAsNonRoot: true })).toBe('65532:65532 /');
    expect(await who({ runAsNonRoot: true }, '1234:5')).toBe('1234:5 /');
    expect(await who({ runAsNonRoot: true }, 'nobody')).toBe(`${uid}:${gid} ${home}`);
    expect(await who({}, '1234')).toBe('1234:1234 /');
    expect(await who({ runAsUser: 99_999 }, 'nobody')).toBe('99999:99999 /');
    expect(await who({ runAsUser: 1, runAsGroup: 7 })).toMatch(/^1:7 \/[a-z]/);
    await expect(who({}, 'nobody-knows-it')).rejects.toThrow('unable to find user or group nobody-knows-it');
  });

  it('gets others, and loses some, as it asks', async () => {
    const set = await capabilitiesOf({ capabilities: { add: ['NET_ADMIN'], drop: ['CAP_NET_RAW'] } });
    expect([chown, netRaw, netAdmin, sysAdmin].map((one) => has(set, one))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(await capabilitiesOf({ capabilities: { drop: ['ALL'] } })).toBe(0n);
    expect(await capabilitiesOf({ capabilities: { drop: ['ALL'], add: ['CHOWN'] } })).toBe(1n);
  });

  it('a privileged one keeps all', async () => {
    const own = BigInt(`0x${/CapEff:\s*([0-9a-f]+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]}`);
    expect(await capabilitiesOf({ privileged: true })).toBe(own);
  });

  it('has them for commands beside it, too', async () => {
    const container = await pod.shell('sleep 600', {
      container: { securityContext: { capabilities: { drop: ['ALL'] } } },
    });
    const session = new TestSession();
    await container.exec(['grep', 'CapEff', '/proc/self/status'], session);
    expect(session.out).toMatch(/CapEff:\s*0{16}\n/);
  });

  it('a read-only root stays so when the machine mounts something, and is made while it does', async () => {
    const place = await mkdtemp('/var/tmp/wherry-mounted-');
    onTestFinished(() => rm(place, { recursive: true, force: true }));
    await Promise.all(['early', 'late', 'flicker'].map((name) => mkdir(join(place, name))));
    const mount = (name: string) => spawner.run(['mount', '-t', 'tmpfs', name, join(place, name)]);
    const unmount = (name: string) => spawner.run(['umount', '-l', join(place, name)]);
    expect((await mount('early')).code).toBe(0);
    let isOver = false;
    const flickering = (async () => {
      while (!isOver) {
        await mount('flicker');
        await unmount('flicker');
      }
    })();
    try {
      const container = await pod.shell('sleep 600', {
        container: { securityContext: { readOnlyRootFilesystem: true } },
      });
      isOver = true;
      await flickering;
      await mount('late');
      const session = new TestSession();
      const script = `for name in early late; do touch ${place}/$name/x && echo written; done; true`;
      await container.exec(['sh', '-c', script], session);
      expect(session.out).toBe('');
    } finally {
      isOver = true;
      await flickering;
      for (const name of ['early', 'late', 'flicker']) await unmount(name);
    }
  });

  it('sees its own control groups, with its limits', async () => {
    const probe = await Cgroups.open('0-probe');
    await probe?.close();
    const resources = { requests: { cpu: '100m' }, limits: { cpu: '250m' } };
    const container = await pod.shell(
      'cd /sys/fs/cgroup; cat cpu.max cpu/cpu.cfs_quota_us cpu.weight cpu/cpu.shares 2>/dev/null; echo end',
      { container: { resources } },
    );
    await container.exited;
    const text = await pod.log();
    const isLimited = /^25000( 100000)?\n(4|102)\nend\n$/.test(text);
    expect(isLimited).toBe(probe?.folders.some((folder) => /cpu|cgroup\/wherry/.test(folder)) === true);
  });

  it('a read-only root can be written to in its mounts alone', async () => {
    const source = await mkdtemp(join(tmpdir(), 'wherry-written-'));
    const probe = '/tmp/wherry-read-only-probe';
    const container = await pod.shell(
      `touch ${probe} || echo tmp; touch /wherry-probe || echo root; touch /etc/wherry-probe || echo etc; echo yes > /wherry-data/file && echo volume; echo x > /dev/null && echo null; echo said > /dev/termination-log`,
      {
        mounts: [{ path: '/wherry-data', source, readOnly: false }],
        container: { securityContext: { readOnlyRootFilesystem: true } },
      },
    );
    expect(await container.exited).toMatchObject({ exitCode: 0, message: 'said\n' });
    const text = (await pod.log()).split('\n').filter((line) => /^[a-z]+$/.test(line));
    expect(text).toEqual(['tmp', 'root', 'etc', 'volume', 'null']);
    expect(readFileSync(join(source, 'file'), 'utf8')).toBe('yes\n');
    expect(existsSync(probe)).toBe(false);
    await rm(source, { recursive: true });
  });
});

describe.runIf(namespaces && existsSync(shmForced))('kernel parameters', () => {
  it('are set for the pod, and not for the machine', async () => {
    const before = readFileSync(shmForced, 'utf8');
    const pod = await ProcessPod.make();
    const spec = {
      containers: [],
      securityContext: { sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] },
    };
    await pod.runtime.removePod('uid-1');
    const container = await pod.shell(`cat ${shmForced}; sleep 600`, { spec });
    const session = new TestSession();
    await container.exec(['cat', shmForced], session);
    expect(session.out).toBe('1\n');
    expect(await pod.log({ follow: true, limitBytes: 2 })).toBe('1\n');
    expect(readFileSync(shmForced, 'utf8')).toBe(before);
    await pod.clear();
    await pod.close();
    expect(pod.errors).toEqual([]);
  });

  it('that cannot be set are told of', async () => {
    const network = await new HostNetwork('127.0.0.1').attach();
    const set = (name: string, value: string) =>
      PodSysctls.set(
        { metadata: { name: 'p' }, spec: { securityContext: { sysctls: [{ name, value }] } } },
        network,
        namespaces,
        spawner,
      );
    await expect(set('net.ipv4.tcp_syncookies', '1')).rejects.toThrow(
      'sysctl "net.ipv4.tcp_syncookies" needs a network of the pod\'s own',
    );
    await expect(set('kernel.shm_rmid_forced', 'nonsense')).rejects.toThrow('cannot set sysctls: ');
    expect(await set('kernel/shm_rmid_forced', '0').then((made) => made?.close())).toBeUndefined();
  });
});

it('without the program setpriv, a container that asks for nothing runs as it is', () => {
  const without = { fullTool: () => undefined } as unknown as Spawner;
  const pod = { metadata: { name: 'p' }, spec: {} };
  expect(containerUser(pod, { name: 'c' }, without, undefined, 0)).toEqual({
    prefix: [],
    dropsRights: false,
  });
  expect(() =>
    containerUser(pod, { name: 'c', securityContext: { runAsUser: 1 } }, without, undefined, 0),
  ).toThrow('a securityContext needs the program setpriv');
});

const busybox = spawner.tool('busybox');
it.runIf(busybox)('the setpriv of busybox is not used: it refuses what a container asks of it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'wherry-busybox-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const link = join(folder, 'setpriv');
  await symlink(busybox!, link);
  class Linked extends Spawner {
    override tool = () => link;
  }
  const linked = new Linked();
  onTestFinished(() => linked.close());
  expect(linked.fullTool('setpriv')).toBeUndefined();
  const pod = { metadata: { name: 'p' }, spec: {} };
  const taken = { fullTool: () => link } as unknown as Spawner;
  const { prefix } = containerUser(
    pod,
    { name: 'c', securityContext: { runAsUser: 1 } },
    taken,
    undefined,
    0,
  );
  const { code, stderr } = await spawner.run([...prefix, 'true']);
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('unrecognized option') });
});
