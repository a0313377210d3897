/** Checks of what the machine allows: rights, namespaces, control groups, packet filters, and limits. */
import { type Check, type Finding, ok } from './finding.ts';
import type { Probe } from './probe.ts';

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;
const diskErrorBytes = 100 * mebibyte;
const diskWarnedBytes = gibibyte;
const fileShareMin = 0.02;
const memoryWarnedBytes = 256 * mebibyte;
/** Minimum number of file descriptors: each connection, watch and log of a pod takes one. */
const descriptorsMin = 4_096;
const processesMin = 2_048;
/**
 * Minimum inotify limits, below which tools in a few pods fail; the second figures are recommended for larger clusters.
 */
const inotifyMin = { instances: 128, watches: 8_192 };
const inotifyGood = { instances: 512, watches: 65_536 };
/** The minimum that Elasticsearch, OpenSearch and SonarQube require. */
const mapsGood = 262_144;

const notLinux = (what: string, means: string): Finding => ({
  state: 'note',
  says: `only Linux has ${what}`,
  means,
  remedy: 'run Wherry in a Linux machine, such as that of Docker Desktop, Colima or WSL, where you need it',
});

const shared = 'pods share the network of the machine: two cannot listen on the same port';

const rights: Check = {
  subject: 'rights',
  async look({ platform, user }) {
    if (user === 0) return ok('this user is root');
    if (platform !== 'linux') return ok('root is not needed here');
    return {
      state: 'note',
      says: 'this user is not root',
      means: `${shared}, processes are not isolated, and the usual addresses of services do not answer`,
      remedy:
        'run wherry up by sudo; or let services answer without, by --service-cluster-ip-range=127.9.0.0/24',
    };
  },
};

const namespaces: Check = {
  subject: 'namespaces',
  async look(probe) {
    if (probe.platform !== 'linux') return notLinux('network namespaces', shared);
    if (probe.user !== 0)
      return {
        state: 'note',
        says: 'cannot be made without root',
        means: shared,
        remedy: 'run wherry up by sudo',
      };
    const tools = ['unshare', 'nsenter', 'ip'];
    const found = await Promise.all(tools.map((tool) => probe.run('sh', '-c', `command -v ${tool}`)));
    const missing = tools.filter((_, i) => found[i] === undefined);
    if (missing.length)
      return {
        state: 'warning',
        says: `there is no program called ${missing.join(', ')}`,
        means: shared,
        remedy: 'install util-linux and iproute2',
      };
    if ((await probe.run('unshare', '--net', '--mount', 'true')) !== undefined) return ok('can be made');
    return {
      state: 'warning',
      says: 'this machine does not allow them',
      means: shared,
      remedy: 'in a container, run it with --privileged; else see what seccomp or AppArmor forbids',
    };
  },
};

/** The cgroup version that enforces memory limits, and its mount point. A machine may have both versions. */
function groupsOf(mounts: string): readonly [version: 'v1' | 'v2' | undefined, folder: string] {
  const lines = mounts.split('\n');
  const first = lines.find((line) => / - cgroup \S+ (?:\S*,)?memory(?:,|$)/.test(line));
  const second = lines.find((line) => line.includes(' - cgroup2 '));
  const folder = (first ?? second)?.split(' ')[4] ?? '';
  return [first ? 'v1' : second ? 'v2' : undefined, folder];
}

const controlGroups: Check = {
  subject: 'control groups',
  async look(probe) {
    if (probe.platform !== 'linux') return notLinux('control groups', 'limits of processes do not hold');
    const mounts = (await probe.read('/proc/self/mountinfo')) ?? '';
    const [version, folder] = groupsOf(mounts);
    const means = 'limits of CPU and memory do not hold for pods that are processes';
    if (!version)
      return { state: 'warning', says: 'none are mounted', means, remedy: 'mount them at /sys/fs/cgroup' };
    if (await probe.isWritable(folder)) return ok(version);
    return {
      state: 'note',
      says: `${version}, which this user may not change`,
      means,
      remedy: 'run as root, or under systemd-run --user --scope -p Delegate=yes',
    };
  },
};

const packetFilter: Check = {
  subject: 'nft',
  async look(probe) {
    const means = 'network policies are stored and do not hold';
    if (probe.platform !== 'linux') return notLinux('nft', means);
    const version = (await probe.run('nft', '--version'))?.trim();
    if (version) return ok(version);
    return { state: 'note', says: 'is not installed', means, remedy: 'install the package nftables' };
  },
};

const disk: Check = {
  subject: 'disk',
  isQuick: true,
  async look(probe, { dataDir }) {
    const free = await probe.freeSpace(dataDir);
    if (!free) return ok('free space is not known');
    const says = `${size(free.bytes)} are free where ${dataDir} is`;
    const remedy = 'free some, or name a folder on another disk by --data-dir';
    if (free.bytes < diskErrorBytes)
      return { state: 'error', says, means: 'writes fail when it is full, and pods are evicted', remedy };
    if (free.bytes < diskWarnedBytes)
      return { state: 'warning', says, means: 'images, logs and volumes of pods fill it soon', remedy };
    if (free.fileShare < fileShareMin)
      return {
        state: 'warning',
        says: `few more files can be made where ${dataDir} is`,
        means: 'the file system has bytes left and no inodes',
        remedy: 'delete folders with many small files, or name a folder on another disk by --data-dir',
      };
    return ok(says);
  },
};

const size = (bytes: number): string =>
  bytes >= gibibyte ? `${Math.floor(bytes / gibibyte)} GiB` : `${Math.floor(bytes / mebibyte)} MiB`;

const memory: Check = {
  subject: 'memory',
  isQuick: true,
  async look(probe) {
    const available = Number(
      /^MemAvailable:\s+(\d+) kB/m.exec((await probe.read('/proc/meminfo')) ?? '')?.[1],
    );
    const bytes = Number.isNaN(available) ? probe.freeMemoryBytes : available * 1024;
    if (bytes >= memoryWarnedBytes) return ok(`${size(bytes)} are available`);
    return {
      state: 'warning',
      says: `only ${size(bytes)} are available`,
      means: 'a server takes about 100 MiB, and the system ends processes when there is no more',
      remedy: 'end other programs, or run fewer pods',
    };
  },
};

/**
 * The limit in effect from a line of /proc/self/limits, with unlimited as Infinity; undefined where it is not known.
 */
function limitOf(text: string | undefined, name: string): number | undefined {
  const value = text && new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(text)?.[1];
  if (!value) return undefined;
  return value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value);
}

/** The limit that a program started from here has, for systems without /proc. */
async function limitOfShell(probe: Probe): Promise<number | undefined> {
  const text = probe.platform === 'win32' ? undefined : await probe.run('sh', '-c', 'ulimit -n');
  return limitOf(`shell ${text ?? ''}`, 'shell');
}

const descriptors: Check = {
  subject: 'open files',
  isQuick: true,
  async look(probe) {
    const most =
      limitOf(await probe.read('/proc/self/limits'), 'Max open files') ?? (await limitOfShell(probe));
    if (most === undefined) return ok('the limit is not known');
    if (most >= descriptorsMin) return ok(`${most} at most`);
    return {
      state: 'warning',
      says: `only ${most} at most`,
      means: 'each connection and watch takes one: beyond them clients are turned away',
      remedy: `raise the limit: ulimit -n ${descriptorsMin} in the shell, or nofile in /etc/security/limits.conf`,
    };
  },
};

const processes: Check = {
  subject: 'processes',
  isQuick: true,
  async look(probe) {
    const most = limitOf(await probe.read('/proc/self/limits'), 'Max processes');
    if (most === undefined || most >= processesMin || probe.user === 0) return ok('enough may be started');
    return {
      state: 'warning',
      says: `this user may have ${most} at most`,
      means: 'pods that are processes, and threads of Node, count among them',
      remedy: 'raise the limit: ulimit -u in the shell, or nproc in /etc/security/limits.conf',
    };
  },
};

const inotify: Check = {
  subject: 'inotify',
  isQuick: true,
  async look(probe) {
    const figure = async (name: string): Promise<number> =>
      Number((await probe.read(`/proc/sys/fs/inotify/max_user_${name}`)) ?? Number.POSITIVE_INFINITY);
    const [instances, watches] = [await figure('instances'), await figure('watches')];
    if (probe.platform !== 'linux') return ok('has no limit here');
    const says = `${instances} instances and ${watches} watches for each user`;
    if (instances >= inotifyGood.instances && watches >= inotifyGood.watches) return ok(says);
    return {
      state: instances < inotifyMin.instances || watches < inotifyMin.watches ? 'warning' : 'note',
      says,
      means: 'programs in pods that watch files end with "too many open files" when many do',
      remedy: `sysctl fs.inotify.max_user_instances=${inotifyGood.instances} fs.inotify.max_user_watches=524288`,
    };
  },
};

const maps: Check = {
  subject: 'memory maps',
  async look(probe) {
    const most = Number((await probe.read('/proc/sys/vm/max_map_count')) ?? Number.POSITIVE_INFINITY);
    if (most >= mapsGood) return ok(Number.isFinite(most) ? `${most} at most` : 'have no limit here');
    return {
      state: 'note',
      says: `${most} at most`,
      means: 'Elasticsearch, OpenSearch and SonarQube do not start in pods; all else does',
      remedy: `sysctl vm.max_map_count=${mapsGood}`,
    };
  },
};

export const machineChecks: readonly Check[] = [
  rights,
  namespaces,
  controlGroups,
  packetFilter,
  disk,
  memory,
  descriptors,
  processes,
  inotify,
  maps,
];
