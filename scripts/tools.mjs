/**
 * The real clients, servers and tools used in tests. Python's client, etcd, HAProxy, shells, Chromium, assemblers,
 * strace and container engines are installed with the system's package manager if they are missing and this user may do
 * so; versions of kubectl and of etcd are downloaded privately (kubectls.mjs, etcds.mjs), and so is Jest (jest.mjs).
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { findEtcds } from './etcds.mjs';
import { findJest } from './jest.mjs';
import { findKubectls } from './kubectls.mjs';
import { finished } from './side-process.mjs';

const installed = (program) => ['sh', '-c', `PATH="$PATH:/usr/sbin:/sbin"; command -v ${program}`];

/** What can be installed: the Debian package, and a command that succeeds if it is installed. */
const clientTools = {
  // Only for the system's Python: a Debian package is not visible to any other.
  'python3-kubernetes': {
    package: 'python3-kubernetes',
    check: ['/usr/bin/python3', '-c', 'import kubernetes'],
  },
  chromium: {
    package: 'chromium',
    check: ['sh', '-c', 'command -v chromium-headless-shell || command -v chromium'],
  },
  haproxy: { package: 'haproxy', check: installed('haproxy') },
  zsh: { package: 'zsh', check: installed('zsh') },
  fish: { package: 'fish', check: installed('fish') },
  strace: { package: 'strace', check: installed('strace') },
  'etcd-server': { package: 'etcd-server', check: ['sh', '-c', 'command -v etcd'] },
  // Both on every machine: the sandbox programs are assembled for all architectures that they are there for.
  'assembler for amd64': {
    package: 'binutils-x86-64-linux-gnu',
    check: installed('x86_64-linux-gnu-as'),
  },
  'assembler for arm64': {
    package: 'binutils-aarch64-linux-gnu',
    check: installed('aarch64-linux-gnu-as'),
  },
};

/** What makes tests cheaper; they do without it, with what it stands in for. */
const quickTools = {
  'headless shell of chromium': {
    package: 'chromium-headless-shell',
    check: ['sh', '-c', 'command -v chromium-headless-shell'],
    standsInFor: 'chromium',
  },
};

/** Container engines, and what tests of pods in namespaces need; only where the machine may be able to run them. */
const engineTools = {
  docker: { package: 'docker.io', check: installed('dockerd') },
  containerd: { package: 'containerd', check: installed('containerd') },
  runc: { package: 'runc', check: installed('runc') },
  'network plugins': { package: 'containernetworking-plugins', check: ['test', '-e', '/usr/lib/cni/bridge'] },
  registry: { package: 'docker-registry', check: installed('docker-registry') },
  iproute2: { package: 'iproute2', check: installed('ip') },
  nftables: { package: 'nftables', check: installed('nft') },
  busybox: { package: 'busybox-static', check: installed('busybox') },
};

/** What only `npm run test:machines` uses: a file system whose names are the same in capitals and small letters. */
export const machineTools = { 'ntfs-3g': { package: 'ntfs-3g', check: installed('lowntfs-3g') } };

/** What only tests before a release use. */
const releaseTools = {
  golang: { package: 'golang-go', check: ['go', 'version'] },
  musl: { package: 'musl-tools', check: installed('musl-gcc') },
  'C++ objects for musl': {
    package: 'libstdc++-12-pic',
    check: ['sh', '-c', 'gcc -print-file-name=libstdc++_pic.a | grep -q /'],
  },
  compose: { package: 'docker-compose', check: installed('docker-compose') },
  pytest: { package: 'python3-pytest', check: ['python3', '-m', 'pytest', '--version'] },
  java: { package: 'default-jdk-headless', check: installed('javac') },
  junit: { package: 'junit5', check: ['test', '-e', '/usr/share/java/junit-platform-console.jar'] },
};

/** Why engines are not installed here; undefined when they may work. Whether they do, their tests find out. */
function engineObstacle() {
  if (process.platform !== 'linux') return 'they need Linux';
  if (process.getuid?.() !== 0) return 'they take the rights of root';
  if (!succeeds(['unshare', '--net', '--mount', 'true'])) return 'the system allows no namespaces';
  try {
    accessSync('/sys/fs/cgroup', constants.W_OK);
  } catch {
    return 'control groups cannot be written';
  }
  return undefined;
}

export const tell = (message) => process.stderr.write(`${message}\n`);

/**
 * Installs the tools beside each other, and returns the environment variables that tell the tests about them. If one is
 * missing, the run fails under CI; elsewhere its tests are skipped. Any version of kubectl will do.
 */
/** @param further tools that only the caller uses */
export async function prepareTools(further = {}) {
  const [jest, kubectls, [uninstalled, etcds]] = await Promise.all([
    findJest(tell),
    findKubectls(tell),
    // Whether an etcd is fetched is known when the system's own is installed, or is not.
    installTools(further).then(async (missing) => [missing, await findEtcds(tell)]),
  ]);
  for (const [version, program] of Object.entries(kubectls))
    tell(`Tests talk to kubectl ${version}, ${program}`);
  const missing = uninstalled.filter((tool) => tool !== 'etcd-server' || !Object.keys(etcds).length);
  if (!Object.keys(kubectls).length) missing.push('kubectl');
  if (!jest) missing.push('jest');
  for (const [version, program] of Object.entries(etcds)) tell(`Tests use etcd ${version}, ${program}`);
  if (missing.length) {
    const message = `These tools are missing, and tests need them: ${missing.join(', ')}`;
    if (process.env.CI) {
      tell(message);
      process.exit(1);
    }
    tell(`${message}. Tests that use them are SKIPPED.`);
  }
  return {
    WHERRY_MISSING_TOOLS: missing.join(','),
    WHERRY_KUBECTLS: JSON.stringify(kubectls),
    WHERRY_ETCDS: JSON.stringify(etcds),
    WHERRY_JEST: jest ?? '',
    // Tests talk to this machine alone, and reading further authorities takes every process of Node some 80 ms.
    NODE_EXTRA_CA_CERTS: undefined,
  };
}

/** Installs what it can; returns what is still missing. */
async function installTools(further) {
  const obstacle = engineObstacle();
  if (obstacle) tell(`Tests with container engines and network namespaces are SKIPPED: ${obstacle}`);
  const isRelease = process.env.WHERRY_RELEASE === '1';
  const tools = {
    ...quickTools,
    ...clientTools,
    ...(obstacle ? {} : engineTools),
    ...(isRelease ? releaseTools : {}),
    ...further,
  };
  const isMissing = (tool) => !succeeds(tools[tool].check);
  const wanted = Object.keys(tools).filter(isMissing);
  if (wanted.length && process.getuid?.() === 0 && succeeds(['apt-get', '--version'])) {
    tell(`Installing ${wanted.join(', ')}…`);
    const quiet = {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    };
    await finished('apt-get', ['update', '-qq'], quiet);
    // All at once, because each call reads all lists and has the manual pages indexed again, some ten seconds. What is
    // missing then, apart, so that one that cannot be installed is not in the way of the rest.
    const apart = [quickTools, clientTools, engineTools, releaseTools, further];
    for (const group of [atOnce(tools, wanted), ...apart]) {
      const packages = wanted
        .filter((tool) => group[tool] && isMissing(tool))
        .map((tool) => tools[tool].package);
      if (packages.length)
        await finished('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], quiet);
    }
  }
  return wanted.filter((tool) => !quickTools[tool] && isMissing(tool));
}

/** Without what others of them stand in for. */
function atOnce(tools, wanted) {
  const replaced = new Set(wanted.map((tool) => tools[tool].standsInFor));
  return Object.fromEntries(Object.entries(tools).filter(([tool]) => !replaced.has(tool)));
}

function succeeds([command, ...args]) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}
