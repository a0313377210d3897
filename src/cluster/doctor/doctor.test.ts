/** Proves each finding of `wherry doctor` on machines that tests describe, and what the report and the start say of them. */
import { describe, expect, it } from 'vitest';
import { examine, startFindings } from './doctor.ts';
import type { Asked, Finding } from './finding.ts';
import type { Probe } from './probe.ts';

const gibibyte = 1024 ** 3;
const mebibyte = 1024 ** 2;

const limits = (files: string, processes: string): string =>
  `Limit Soft Limit Hard Limit Units\nMax processes             ${processes}    99999    processes\nMax open files            ${files}    99999    files\n`;

interface Machine extends Partial<Omit<Probe, 'read' | 'run'>> {
  readonly files?: Readonly<Record<string, string>>;
  /** Outputs of programs, by their command lines; an undefined one fails. */
  readonly programs?: Readonly<Record<string, string | undefined>>;
}

const goodFiles = {
  '/proc/self/mountinfo': '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n',
  '/proc/self/limits': limits('1048576', 'unlimited'),
  '/proc/meminfo': 'MemTotal: 16000000 kB\nMemAvailable:    8388608 kB\n',
  '/proc/sys/fs/inotify/max_user_instances': '1024\n',
  '/proc/sys/fs/inotify/max_user_watches': '524288\n',
  '/proc/sys/vm/max_map_count': '262144\n',
};

const goodPrograms = {
  'kubectl version --client -o json': '{"clientVersion": {"gitVersion": "v1.34.1"}}',
  'kubectl config current-context': 'wherry-default\n',
  'sh -c command -v unshare': '/usr/bin/unshare\n',
  'sh -c command -v nsenter': '/usr/bin/nsenter\n',
  'sh -c command -v ip': '/usr/sbin/ip\n',
  'unshare --net --mount true': '',
  'nft --version': 'nftables v1.0.9\n',
};

/** A machine on which all is well, but for what is given. */
function machine({ files = {}, programs = {}, ...rest }: Machine = {}): Probe {
  const texts: Record<string, string | undefined> = { ...goodFiles, ...files };
  const outputs: Record<string, string | undefined> = { ...goodPrograms, ...programs };
  return {
    platform: 'linux',
    nodeVersion: 'v22.1.0',
    user: 0,
    freeMemoryBytes: 4 * gibibyte,
    isWritable: async () => true,
    freeSpace: async () => ({ bytes: 50 * gibibyte, fileShare: 0.9 }),
    portProblem: async () => undefined,
    ownerOf: async () => undefined,
    engines: async () => [{ socket: '/var/run/docker.sock', name: 'Docker 28.0.1' }],
    ...rest,
    read: async (file) => texts[file],
    run: async (program, ...args) => outputs[[program, ...args].join(' ')],
  };
}

const asked = { dataDir: '.wherry', port: 8080 };
const options = { ...asked, format: 'json' } as const;

type Found = Finding & { subject: string };

const findings = async (given?: Machine, asked = {}): Promise<Found[]> =>
  JSON.parse((await examine(machine(given), { ...options, ...asked })).text).findings;

it('finds nothing on a machine where all is well', async () => {
  expect((await findings()).filter(({ state }) => state !== 'ok')).toEqual([]);
  const { text, isBad } = await examine(machine(), { ...options, format: 'text' });
  expect(isBad).toBe(false);
  expect(text).toMatch(/^ok {7}Node +v22\.1\.0\n/);
  expect(text).toMatch(/\nAll is well\.\n$/);
});

const taken = (port: number) => async (asked: number) =>
  asked === port ? `port ${port} on 127.0.0.1 is taken by another process` : undefined;

describe('finds', () => {
  it.each<[string, Finding['state'], string, Machine, Partial<Asked>?]>([
    ['Node', 'error', 'v20.18.3 is too old', { nodeVersion: 'v20.18.3' }],
    ['Node', 'error', 'v18.20.0 is too old', { nodeVersion: 'v18.20.0' }],
    ['data folder', 'error', '.wherry cannot be written', { isWritable: async () => false }],
    ['data folder', 'ok', 'is in use by process 77', { ownerOf: async () => 77 }],
    ['ports', 'error', 'port 8080 on 127.0.0.1 is taken', { portProblem: taken(8080) }],
    ['ports', 'note', 'port 8080 on 127.0.0.1 is taken', { portProblem: taken(8080) }, { isPortOpen: true }],
    ['ports', 'note', 'port 6443 on 127.0.0.1 is taken', { portProblem: taken(6443) }],
    ['ports', 'error', 'port 77 on 127.0.0.1 is taken', { portProblem: taken(77) }, { securePort: 77 }],
    [
      'ports',
      'ok',
      'while the cluster of .wherry runs',
      { portProblem: taken(8080), ownerOf: async () => 77 },
    ],
    ['kubectl', 'note', 'is not installed', { programs: { 'kubectl version --client -o json': undefined } }],
    [
      'kubectl',
      'note',
      'v1.20.2 is old',
      { programs: { 'kubectl version --client -o json': '{"gitVersion":"v1.20.2"}' } },
    ],
    ['kubectl', 'ok', 'of an unknown version', { programs: { 'kubectl version --client -o json': '{}' } }],
    [
      'context of kubectl',
      'note',
      'kubectl talks to the context "production"',
      { programs: { 'kubectl config current-context': 'production\n' } },
    ],
    [
      'context of kubectl',
      'ok',
      'none is set',
      { programs: { 'kubectl config current-context': undefined } },
    ],
    ['container engines', 'note', 'there is none', { engines: async () => [] }],
    [
      'container engines',
      'warning',
      '/s may not be used by this user',
      { engines: async () => [{ socket: '/s', isForbidden: true }] },
    ],
    ['container engines', 'warning', 'nothing answers at /s', { engines: async () => [{ socket: '/s' }] }],
    [
      'container engines',
      'ok',
      'containerd 2.0.0 at /t',
      { engines: async () => [{ socket: '/s' }, { socket: '/t', name: 'containerd 2.0.0' }] },
    ],
    ['rights', 'note', 'this user is not root', { user: 1000 }],
    ['rights', 'ok', 'root is not needed here', { user: 501, platform: 'darwin' }],
    ['namespaces', 'note', 'cannot be made without root', { user: 1000 }],
    ['namespaces', 'note', 'only Linux has network namespaces', { platform: 'win32', user: undefined }],
    [
      'namespaces',
      'warning',
      'there is no program called nsenter, ip',
      { programs: { 'sh -c command -v nsenter': undefined, 'sh -c command -v ip': undefined } },
    ],
    [
      'namespaces',
      'warning',
      'does not allow them',
      { programs: { 'unshare --net --mount true': undefined } },
    ],
    ['control groups', 'warning', 'none are mounted', { files: { '/proc/self/mountinfo': '' } }],
    [
      'control groups',
      'note',
      'v2, which this user may not change',
      { isWritable: async (folder) => folder !== '/sys/fs/cgroup' },
    ],
    [
      'control groups',
      'note',
      'v1, which this user may not change',
      {
        files: {
          '/proc/self/mountinfo':
            '1 2 0:1 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n1 2 0:2 / /groups/memory rw - cgroup cgroup rw,memory\n',
        },
        isWritable: async (folder) => folder !== '/groups/memory',
      },
    ],
    ['control groups', 'note', 'only Linux has control groups', { platform: 'darwin' }],
    ['nft', 'note', 'is not installed', { programs: { 'nft --version': undefined } }],
    ['nft', 'note', 'only Linux has nft', { platform: 'darwin' }],
    ['disk', 'error', '50 MiB are free', { freeSpace: async () => ({ bytes: 50 * mebibyte, fileShare: 1 }) }],
    [
      'disk',
      'warning',
      '500 MiB are free',
      { freeSpace: async () => ({ bytes: 500 * mebibyte, fileShare: 1 }) },
    ],
    [
      'disk',
      'warning',
      'few more files can be made',
      { freeSpace: async () => ({ bytes: 9 * gibibyte, fileShare: 0.01 }) },
    ],
    ['disk', 'ok', 'is not known', { freeSpace: async () => undefined }],
    [
      'memory',
      'warning',
      'only 100 MiB are available',
      { files: { '/proc/meminfo': 'MemAvailable: 102400 kB' } },
    ],
    [
      'open files',
      'warning',
      'only 1024 at most',
      { files: { '/proc/self/limits': limits('1024', '9999') } },
    ],
    [
      'open files',
      'warning',
      'only 256 at most',
      { platform: 'darwin', files: { '/proc/self/limits': '' }, programs: { 'sh -c ulimit -n': '256\n' } },
    ],
    ['open files', 'ok', 'is not known', { files: { '/proc/self/limits': '' } }],
    [
      'processes',
      'warning',
      '500 at most',
      { user: 1000, files: { '/proc/self/limits': limits('9999', '500') } },
    ],
    ['processes', 'ok', 'enough', { files: { '/proc/self/limits': limits('9999', '500') } }],
    ['inotify', 'note', '128 instances', { files: { '/proc/sys/fs/inotify/max_user_instances': '128\n' } }],
    ['inotify', 'warning', '5000 watches', { files: { '/proc/sys/fs/inotify/max_user_watches': '5000\n' } }],
    ['memory maps', 'note', '65530 at most', { files: { '/proc/sys/vm/max_map_count': '65530\n' } }],
  ])('%s: %s, %s', async (subject, state, says, given, asked) => {
    const found = (await findings(given, asked)).find((one) => one.subject === subject)!;
    expect(found).toMatchObject({ state, says: expect.stringContaining(says) });
    // What is not well is explained, and what can be mended has a remedy.
    if (state !== 'ok') expect(found.means).toBeTruthy();
    if (state === 'error' || state === 'warning') expect(found.remedy).toBeTruthy();
    expect((await examine(machine(given), { ...options, ...asked })).isBad).toBe(state === 'error');
  });
});

it('says in text what follows and what to do', async () => {
  const { text } = await examine(machine({ nodeVersion: 'v18.0.0' }), { ...options, format: 'text' });
  expect(text).toMatch(
    /^ERROR {4}Node +v18\.0\.0 is too old\n +Wherry needs 20\.19 or newer\n +→ install a newer one/,
  );
  expect(text).toMatch(/\nwherry up does not start before the errors are mended\.\n$/);
});

describe('the start', () => {
  it('says nothing where all is well, or notes alone', async () => {
    expect(await startFindings(machine(), asked)).toEqual([]);
    const files = { '/proc/sys/fs/inotify/max_user_instances': '128\n' };
    expect(await startFindings(machine({ files }), asked)).toEqual([]);
  });

  it('says the two that matter most, errors first, and starts no program to find them', async () => {
    const probe = machine({
      files: { '/proc/self/limits': limits('100', '9999'), '/proc/meminfo': 'MemAvailable: 102400 kB' },
      freeSpace: async () => ({ bytes: 50 * mebibyte, fileShare: 1 }),
    });
    const never = (): never => {
      throw new Error('too slow for a start');
    };
    expect(await startFindings({ ...probe, run: never, engines: never, portProblem: never }, asked)).toEqual([
      expect.stringMatching(
        /^Note: disk: 50 MiB are free where \.wherry is; .* \(wherry doctor says more\)$/,
      ),
      expect.stringMatching(/^Note: memory: only 100 MiB are available; /),
    ]);
  });
});
