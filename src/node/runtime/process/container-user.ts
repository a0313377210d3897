/** The user a container runs as: its security context, turned into a prefix for its command line. */
import { readFileSync } from 'node:fs';
import type { Container, Pod } from '../../../api/generated/types.ts';
import type { Spawner } from '../../process/spawner.ts';
import { StartFailure } from '../runtime.ts';

export interface ProcessUser {
  /** Goes before the command; empty when nothing changes. */
  readonly prefix: readonly string[];
  /** Whether the command has fewer rights than the prefix before it. */
  readonly dropsRights: boolean;
}

const unchanged: ProcessUser = { prefix: [], dropsRights: false };

/**
 * Only root can change users. An agent that is not root runs everything as its own user, which never has more
 * rights than requested. Throws `StartFailure`.
 */
export function containerUser(
  pod: Pod,
  container: Container,
  spawner: Spawner,
  own = process.getuid?.(),
): ProcessUser {
  const of = container.securityContext ?? {};
  const all = pod.spec?.securityContext ?? {};
  const user = of.runAsUser ?? all.runAsUser;
  if ((of.runAsNonRoot ?? all.runAsNonRoot) && (own === 0 ? (user ?? 0) : own) === 0)
    throw new StartFailure(
      'CreateContainerError',
      user === 0
        ? "container's runAsUser breaks non-root policy"
        : 'container has runAsNonRoot and would run as root: set runAsUser',
    );
  if (own !== 0) return unchanged;
  const args = [
    ...identity(user, of.runAsGroup ?? all.runAsGroup, [
      ...(all.supplementalGroups ?? []),
      ...(all.fsGroup === undefined ? [] : [all.fsGroup]),
    ]),
    ...(of.privileged ? [] : capabilities(of.capabilities?.drop ?? [], of.capabilities?.add ?? [])),
    ...(of.allowPrivilegeEscalation === false && !of.privileged ? ['--no-new-privs'] : []),
  ];
  if (!args.length) return unchanged;
  const setpriv = spawner.tool('setpriv');
  // Without the program, a container that asks for nothing runs with all rights of the agent.
  if (!setpriv && !pod.spec?.securityContext && !container.securityContext) return unchanged;
  if (!setpriv)
    throw new StartFailure(
      'CreateContainerError',
      'a securityContext needs the program setpriv (util-linux)',
    );
  return { prefix: [setpriv, ...args, '--'], dropsRights: true };
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

function primaryGroup(user: number): number | undefined {
  if (user === 0) return 0;
  try {
    const line = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((text) => text.split(':'))
      .find((fields) => fields[2] === String(user));
    return line ? Number(line[3]) : undefined;
  } catch {
    return undefined;
  }
}

/** The capabilities of a container that does not ask for others; those of containerd. */
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

/**
 * Variables that make the loader or the C library load code or files of the container's choice. They are set
 * only after the change of user, so that no program sees them while it has the agent's rights.
 */
const unsafeVariable =
  /^(LD_|LC_|LANG|MALLOC_|GLIBC_|GCONV_|GETCONF_|LOCPATH|NLSPATH|NIS_PATH|RES_OPTIONS|HOSTALIASES|LOCALDOMAIN|RESOLV_|TZDIR|TMPDIR)/;

/** Variables of the loader that could break system programs that run before the command. */
const loaderVariable = /^(LD_|GLIBC_)/;

export interface SplitEnvironment {
  readonly early: Record<string, string>;
  /** As `NAME=VALUE`, for the `env` program. */
  readonly late: string[];
}

export function splitEnvironment(
  env: Readonly<Record<string, string>>,
  { dropsRights }: ProcessUser,
): SplitEnvironment {
  const early: Record<string, string> = {};
  const late: string[] = [];
  for (const [name, value] of Object.entries(env))
    if ((dropsRights ? unsafeVariable : loaderVariable).test(name)) late.push(`${name}=${value}`);
    else early[name] = value;
  return { early, late };
}
