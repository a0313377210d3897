/**
 * Proves for every rule of pod security and every runtime that the field which the rule bounds means what it says: the
 * runtime follows it, or refuses the pod. Where it does neither, the reason why that harms nobody stands here. A rule
 * without a row fails.
 */
import { describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from '../../api/generated/types.ts';
import { podChecks } from '../../api/rules/pod-security/standard.ts';
import { refusalOf } from '../pods/pod-admission.ts';
import type { Spawner } from '../process/spawner.ts';
import { containerConfig, sandboxConfig } from './cri/cri-bodies.ts';
import { containerBody, sandboxBody } from './docker/docker-bodies.ts';
import { containerRights } from './engine/container-rights.ts';
import { containerUser } from './process/container-user.ts';
import { refuseOwnUsers } from './user-namespaces.ts';

type Runtime = 'process' | 'docker' | 'cri' | 'simulated';
const runtimes: readonly Runtime[] = ['process', 'docker', 'cri', 'simulated'];

/** What a runtime makes of a pod, as one text; throws what the runtime or its node refuses the pod with. */
type Made = (spec: Partial<PodSpec>, container?: Partial<Container>) => Promise<string>;

interface Row {
  /** The runtime does what the field says. */
  follows?: (made: Made) => Promise<void>;
  /** The runtime, or its node, does not run such a pod. */
  refuses?: (made: Made) => Promise<void>;
  /** The runtime does not look at the field, and that gives nobody more than the rule allows. */
  harmless?: string;
}

const podOf = (spec: Partial<PodSpec>, container: Partial<Container>): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid: 'u' },
  spec: { ...spec, containers: [{ name: 'c', ...container }] },
});

/** As root, who could do everything; programs are on the machine. */
const tool = (name: string) => `/bin/${name}`;
const spawner = { tool, fullTool: tool } as unknown as Spawner;
const room = { pods: '110' };

function admitted(pod: Pod, runtime: Runtime): void {
  const refusal = refusalOf(pod, { count: 0, pods: () => [] }, room, 'linux');
  if (refusal) throw new Error(`${refusal.reason}: ${refusal.message}`);
  if (runtime !== 'simulated') refuseOwnUsers(pod, runtime);
}

const owner = { node: 'n', agent: 'a' } as never;
const facts = { name: 'c', attempt: 0, terminationFile: '/t', shownImageId: 'i' } as never;

/** What an engine is sent for a pod: its sandbox, then its container. */
async function sent(runtime: 'docker' | 'cri', pod: Pod): Promise<string> {
  const [container] = pod.spec!.containers!;
  const rights = await containerRights(pod, container!, '', '/seccomp');
  const launch = {
    ...{
      pod,
      container: container!,
      attempt: 0,
      command: ['run'],
      env: {},
      workingDir: undefined,
      mounts: [],
    },
    image: { engine: { id: 'i', shownId: 'i', user: '', pulled: '' }, entrypoint: [], args: [] },
    place: { folder: '/f', ip: '' },
  } as never;
  const run = {
    owner,
    launch,
    rights,
    facts,
    target: undefined,
    lowScores: true,
    sandbox: { id: 's' },
  } as never;
  const box = { owner, pod, attempt: 0, hostname: 'p', image: 'pause', lowScores: true, folder: '/f' };
  const sharesNetwork = pod.spec?.hostNetwork === true;
  const bodies =
    runtime === 'docker'
      ? [sandboxBody({ ...box, network: sharesNetwork ? 'host' : 'none' } as never), containerBody(run)]
      : [
          sandboxConfig({ ...box, sharesNetwork } as never),
          containerConfig({ ...(run as object), logPath: 'l', sharesNetwork } as never),
        ];
  return JSON.stringify(bodies);
}

const maker =
  (runtime: Runtime): Made =>
  async (spec, container = {}) => {
    const pod = podOf(spec, container);
    admitted(pod, runtime);
    if (runtime === 'simulated') return '';
    if (runtime === 'process')
      return containerUser(pod, pod.spec!.containers![0]!, spawner, undefined, 0).prefix.join(' ');
    return sent(runtime, pod);
  };

const context = (securityContext: Container['securityContext']): Partial<Container> => ({ securityContext });

const nothingRuns: Row = { harmless: 'nothing runs: a simulated container is a status' };

const noProfiles: Row = {
  harmless:
    'a process gets no profile of the kernel, whatever the pod asks for: it is confined as little as every program of ' +
    'its user, and SECURITY.md says that processes are no boundary',
};

/** The rights of a process are those that `setpriv` leaves. */
const row = (process: Row, engines: Row | { docker: Row; cri: Row }): Record<Runtime, Row> => ({
  process,
  docker: 'docker' in engines ? engines.docker : engines,
  cri: 'cri' in engines ? engines.cri : engines,
  simulated: nothingRuns,
});

/** What a container gets, with the field and without it, must differ by a text. */
const shows =
  (text: string | RegExp, container: Partial<Container>, spec: Partial<PodSpec> = {}) =>
  async (made: Made): Promise<void> => {
    expect(await made(spec, container)).toMatch(text);
    expect(await made({}, {})).not.toMatch(text);
  };

const dropAll = context({ capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } });
const unmasked = {
  refuses: (made: Made) =>
    expect(made({ hostUsers: false }, context({ procMount: 'Unmasked' }))).rejects.toThrow(/hostUsers/),
};

const notRoot: Row = {
  refuses: async (made) => {
    await expect(made({}, context({ runAsNonRoot: true, runAsUser: 0 }))).rejects.toThrow(/non-root/);
    // A process has no image that would be root: it gets a user without rights.
    const unnamed = made({}, context({ runAsNonRoot: true }));
    await unnamed.then(
      (words) => expect(words).toContain('--reuid=65532'),
      (error: Error) => expect(error.message).toMatch(/runAsNonRoot/),
    );
    // What the rule excuses because of users of its own does not run.
    await expect(made({ hostUsers: false }, context({ runAsUser: 0 }))).rejects.toThrow(/hostUsers/);
  },
};

const rows: Record<string, Record<Runtime, Row>> = {
  appArmorProfile: row(noProfiles, {
    docker: {
      follows: shows(
        'apparmor=mine',
        context({ appArmorProfile: { type: 'Localhost', localhostProfile: 'mine' } }),
      ),
    },
    cri: {
      follows: shows('"mine"', context({ appArmorProfile: { type: 'Localhost', localhostProfile: 'mine' } })),
    },
  }),
  capabilities_baseline: row(
    { follows: shows(/--bounding-set=\S*\+sys_admin/, context({ capabilities: { add: ['SYS_ADMIN'] } })) },
    { follows: shows('SYS_ADMIN', context({ capabilities: { add: ['SYS_ADMIN'] } })) },
  ),
  capabilities_restricted: row(
    { follows: shows(/--bounding-set=-all,\+net_bind_service /, dropAll) },
    { follows: shows('ALL', dropAll) },
  ),
  hostNamespaces: row(
    {
      harmless:
        'whether a pod has a network and a list of processes of its own is up to the node and the rights of the agent; ' +
        'without them all processes share those of the machine, and SECURITY.md says so',
    },
    {
      docker: {
        follows: async (made) => {
          await shows('"NetworkMode":"host"', {}, { hostNetwork: true })(made);
          await shows('"PidMode":"host"', {}, { hostPID: true })(made);
          await shows('"IpcMode":"host"', {}, { hostIPC: true })(made);
        },
      },
      cri: {
        follows: async (made) => {
          const plain = await made({});
          for (const name of ['hostNetwork', 'hostPID', 'hostIPC'] as const)
            expect(await made({ [name]: true })).not.toBe(plain);
        },
      },
    },
  ),
  hostPathVolumes: row(...sameVolumes()),
  restrictedVolumes: row(...sameVolumes()),
  hostPorts: row(
    ...twice({
      follows: async (made) => {
        // The node listens at them, for every runtime, and refuses a pod whose ports are taken.
        const ports = [{ containerPort: 80, hostPort: 80 }];
        const held = { count: 1, pods: () => [podOf({}, { ports })] };
        expect(refusalOf(podOf({}, { ports }), held, room, 'linux')).toMatchObject({ reason: 'NodePorts' });
        await made({}, { ports });
      },
    }),
  ),
  hostProbesAndHostLifecycle: row(
    ...twice({
      harmless:
        'probes of other hosts are sent by the agent, for all runtimes alike, and never to a door of this machine',
    }),
  ),
  privileged: row(
    {
      follows: async (made) => {
        expect(await made({}, context({ privileged: true }))).toBe('');
        expect(await made({}, {})).toMatch(/--bounding-set=-all/);
      },
    },
    { follows: shows(/"[Pp]rivileged":true/, context({ privileged: true })) },
  ),
  procMount: row(unmasked, unmasked),
  procMount_restricted: row(unmasked, unmasked),
  seLinuxOptions: row(noProfiles, {
    docker: { follows: shows('label=type:mine_t', context({ seLinuxOptions: { type: 'mine_t' } })) },
    cri: { follows: shows('"mine_t"', context({ seLinuxOptions: { type: 'mine_t' } })) },
  }),
  seccompProfile_baseline: row(noProfiles, seccomp()),
  seccompProfile_restricted: row(noProfiles, seccomp()),
  sysctls: row(
    ...twice({
      refuses: (made) =>
        expect(
          made({ securityContext: { sysctls: [{ name: 'kernel.panic', value: '1' }] } }),
        ).rejects.toThrow(/SysctlForbidden/),
    }),
  ),
  windowsHostProcess: row(
    ...twice({
      refuses: async (made) => {
        await expect(made({ os: { name: 'windows' } })).rejects.toThrow(
          "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
        );
        await expect(made({ nodeSelector: { 'kubernetes.io/os': 'windows' } })).rejects.toThrow(
          "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        );
      },
    }),
  ),
  allowPrivilegeEscalation: row(
    { follows: shows('--no-new-privs', context({ allowPrivilegeEscalation: false })) },
    {
      docker: { follows: noNewPrivileges(/"CapAdd".*"no-new-privileges"/) },
      cri: { follows: noNewPrivileges(/"noNewPrivileges":true/) },
    },
  ),
  runAsNonRoot: row(notRoot, notRoot),
  runAsUser: row(
    { follows: shows('--reuid=1234', context({ runAsUser: 1234 })), refuses: notRoot.refuses },
    { follows: shows('1234', context({ runAsUser: 1234 })), refuses: notRoot.refuses },
  ),
};

function sameVolumes(): [Row, Row] {
  return twice({
    harmless:
      'volumes are made by the node and not by a runtime: a pod has those that it names, and the rule is about names',
  });
}

function twice(one: Row): [Row, Row] {
  return [one, one];
}

function seccomp(): { docker: Row; cri: Row } {
  const profile = context({ seccompProfile: { type: 'RuntimeDefault' } });
  const absent = context({ seccompProfile: { type: 'Localhost', localhostProfile: '../outside.json' } });
  const refuses = (made: Made) => expect(made({}, absent)).rejects.toThrow(/outside of its folder/);
  return {
    docker: {
      follows: async (made) => {
        expect(await made({}, profile)).not.toContain('seccomp=unconfined');
        expect(await made({}, {})).toContain('seccomp=unconfined');
      },
      refuses,
    },
    cri: { follows: async (made) => expect(await made({}, profile)).not.toBe(await made({}, {})), refuses },
  };
}

function noNewPrivileges(text: RegExp) {
  return async (made: Made): Promise<void> => {
    expect(await made({}, context({ allowPrivilegeEscalation: false }))).toMatch(text);
    expect(await made({}, context({ allowPrivilegeEscalation: true }))).not.toMatch(text);
  };
}

describe('a rule of pod security', () => {
  it('has a row for every runtime, and no row is about a rule that is gone', () => {
    expect(Object.keys(rows).sort()).toEqual(podChecks.map(({ id }) => id).sort());
    for (const [id, byRuntime] of Object.entries(rows))
      for (const runtime of runtimes)
        expect(Object.values(byRuntime[runtime]).some(Boolean), `${id}, ${runtime}`).toBe(true);
  });

  for (const [id, byRuntime] of Object.entries(rows))
    for (const runtime of runtimes) {
      const { follows, refuses } = byRuntime[runtime];
      if (follows) it(`${id} is followed by ${runtime}`, () => follows(maker(runtime)));
      if (refuses) it(`${id} is refused by ${runtime}`, () => refuses(maker(runtime)));
    }
});
