/** The user a container runs as: its security context, turned into a prefix for its command line. */
import { readFileSync } from 'node:fs';
import type { Container, Pod } from '../../../api/generated/types.ts';
import type { Spawner } from '../../process/spawner.ts';
import { StartFailure } from '../runtime.ts';

export interface ProcessUser {
  /** Goes before the command; empty when nothing changes. */
  readonly prefix: readonly string[];
  /** The home folder of the container's user, if it is a system user of this machine. */
  readonly home?: string | undefined;
  /** Whether the command has fewer rights than the prefix before it. */
  readonly dropsRights: boolean;
}

const unchanged: ProcessUser = { prefix: [], dropsRights: false };

/** The user of containers that must not be root and name no user: that of most such images. */
const unprivileged: UserIds = { user: 65_532, group: 65_532 };

/** The first id that systems give to people. */
const peopleMin = 1_000;

interface UserIds {
  readonly user: number;
  readonly group?: number | undefined;
}

/**
 * Only root can change users. An agent that is not root runs everything as its own user, which never has more
 * rights than requested. Throws `StartFailure`.
 * @param imageUser the user of the image: `1000`, `1000:1000`, `web` or `web:staff`
 */
export function containerUser(
  pod: Pod,
  container: Container,
  spawner: Spawner,
  imageUser?: string,
  own = process.getuid?.(),
): ProcessUser {
  const of = container.securityContext ?? {};
  const all = pod.spec?.securityContext ?? {};
  const asked = of.runAsUser ?? all.runAsUser;
  const isNonRoot = of.runAsNonRoot ?? all.runAsNonRoot;
  if (own !== 0) return unchanged;
  const ofImage = asked === undefined && imageUser ? idsOf(imageUser) : undefined;
  const { user, group } =
    asked === undefined ? (ofImage ?? (isNonRoot ? unprivileged : {})) : { user: asked, group: undefined };
  if (isNonRoot && !user)
    throw new StartFailure(
      'CreateContainerError',
      asked === 0
        ? "container's runAsUser breaks non-root policy"
        : 'container has runAsNonRoot and image will run as root',
    );
  const args = [
    ...identity(user, of.runAsGroup ?? all.runAsGroup ?? group, [
      ...(all.supplementalGroups ?? []),
      ...(all.fsGroup === undefined ? [] : [all.fsGroup]),
    ]),
    ...(of.privileged ? [] : capabilities(of.capabilities?.drop ?? [], of.capabilities?.add ?? [])),
    ...(of.allowPrivilegeEscalation === false && !of.privileged ? ['--no-new-privs'] : []),
  ];
  if (!args.length) return unchanged;
  const setpriv = spawner.fullTool('setpriv');
  // Without the program, a container that asks for nothing runs with all rights of the agent.
  if (!setpriv && !pod.spec?.securityContext && !container.securityContext) return unchanged;
  if (!setpriv)
    throw new StartFailure(
      'CreateContainerError',
      'a securityContext needs the program setpriv (util-linux)',
    );
  // User ids of people match those of images only by accident: their home folders are not for containers.
  const isOwn = user !== undefined && user > 0 && (ofImage !== undefined || user < peopleMin);
  const home = isOwn ? accounts('/etc/passwd', 2, user)?.[5] : undefined;
  return { prefix: [setpriv, ...args, '--'], dropsRights: true, home };
}

function identity(user: number | undefined, group: number | undefined, extra: readonly number[]): string[] {
  if (user === undefined && group === undefined && !extra.length) return [];
  const own = user ?? 0;
  // Kubernetes uses group 0 for unknown users. On a shared machine that would grant too much.
  const main = group ?? primaryGroup(own) ?? own;
  const groups = [...new Set(extra)];
  return [
    `--reuid=${own}`,
    `--regid=${main}`,
    groups.length ? `--groups=${groups.join(',')}` : '--clear-groups',
  ];
}

const primaryGroup = (user: number): number | undefined => {
  if (user === 0) return 0;
  const group = accounts('/etc/passwd', 2, user)?.[3];
  return group === undefined ? undefined : Number(group);
};

/** The ids of a user as images name it. Throws `StartFailure` for a name that this machine does not have. */
function idsOf(text: string): UserIds {
  const [user = '', group] = text.split(':');
  const id = (name: string, file: string): number => {
    const number = /^\d{1,10}$/.test(name) ? name : accounts(file, 0, name)?.[2];
    if (number !== undefined) return Number(number);
    throw new StartFailure('CreateContainerError', `unable to find user or group ${name} in ${file}`);
  };
  return { user: id(user, '/etc/passwd'), group: group === undefined ? undefined : id(group, '/etc/group') };
}

/** The line of a users or groups file with a given value in a field. */
function accounts(file: string, field: number, value: string | number): string[] | undefined {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .map((text) => text.split(':'))
      .find((fields) => fields[field] === String(value));
  } catch {
    return undefined;
  }
}

/** The default capabilities of a container; those of containerd. */
const capabilitiesDefault = [
  'audit_write',
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'mknod',
  'net_bind_service',
  'net_raw',
  'setfcap',
  'setgid',
  'setpcap',
  'setuid',
  'sys_chroot',
];

/** Removes all others from the bounding set, so that no later program can gain them under any user. */
function capabilities(drop: readonly string[], add: readonly string[]): string[] {
  const name = (text: string): string => text.toLowerCase().replace(/^cap_/, '');
  const known = (text: string): boolean => /^[a-z_]{1,40}$/.test(text);
  const dropped = new Set(drop.map(name).filter(known));
  const added = add.map(name).filter(known);
  const list = added.includes('all')
    ? [...dropped].map((one) => `-${one}`)
    : [
        '-all',
        ...(dropped.has('all') ? [] : capabilitiesDefault.filter((one) => !dropped.has(one))).map(plus),
        ...added.map(plus),
      ];
  return list.length ? [`--bounding-set=${list.join(',')}`, '--inh-caps=-all'] : [];
}

const plus = (capability: string): string => `+${capability}`;
