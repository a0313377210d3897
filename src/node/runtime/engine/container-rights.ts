/** The rights of a container in the form that engines take: user, groups, capabilities, seccomp and hidden paths. */
import { readFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import type { Container, Pod, SeccompProfile } from '../../../api/generated/types.ts';
import { StartFailure } from '../runtime.ts';

export interface ContainerRights {
  /** `uid[:gid]`; undefined for the user of the image. */
  readonly user: string | undefined;
  readonly groups: readonly number[];
  readonly privileged: boolean;
  readonly readOnlyRoot: boolean;
  readonly noNewPrivileges: boolean;
  readonly addedCapabilities: readonly string[];
  readonly droppedCapabilities: readonly string[];
  readonly seccomp: Seccomp;
  /** The AppArmor profile; undefined for the engine's own. */
  readonly appArmor: string | undefined;
  /** Whether /proc is shown as it is, without masked and read-only paths. */
  readonly unmasked: boolean;
}

/** `default` is the engine's own profile. */
type Seccomp = 'default' | 'unconfined' | { readonly profile: string; readonly path: string };

/** The rights; throws `StartFailure` for a container that must not run as root but would. */
export async function containerRights(
  pod: Pod,
  container: Container,
  imageUser: string,
  seccompFolder: string,
): Promise<ContainerRights> {
  const of = container.securityContext ?? {};
  const all = pod.spec?.securityContext ?? {};
  const user = of.runAsUser ?? all.runAsUser;
  const group = of.runAsGroup ?? all.runAsGroup;
  if (of.runAsNonRoot ?? all.runAsNonRoot) checkNonRoot(user, imageUser);
  if (group !== undefined && user === undefined && !imageUser)
    throw new StartFailure('CreateContainerError', 'runAsGroup is specified without a runAsUser');
  const name = user === undefined ? imageUser.split(':')[0] : String(user);
  const own = of.appArmorProfile ?? all.appArmorProfile;
  return {
    user:
      user === undefined && group === undefined
        ? undefined
        : `${name}${group === undefined ? '' : `:${group}`}`,
    groups: [
      ...new Set([...(all.supplementalGroups ?? []), ...(all.fsGroup === undefined ? [] : [all.fsGroup])]),
    ],
    privileged: of.privileged === true,
    readOnlyRoot: of.readOnlyRootFilesystem === true,
    noNewPrivileges: of.allowPrivilegeEscalation === false && !of.privileged,
    addedCapabilities: (of.capabilities?.add ?? []).map(capability),
    droppedCapabilities: (of.capabilities?.drop ?? []).map(capability),
    seccomp: of.privileged
      ? 'unconfined'
      : await seccompOf(of.seccompProfile ?? all.seccompProfile, seccompFolder),
    appArmor:
      own?.type === 'Unconfined'
        ? 'unconfined'
        : own?.type === 'Localhost'
          ? own.localhostProfile
          : undefined,
    unmasked: of.procMount === 'Unmasked',
  };
}

const capability = (name: string): string => name.toUpperCase().replace(/^CAP_/, '');

function checkNonRoot(user: number | undefined, imageUser: string): void {
  const refuse = (message: string): never => {
    throw new StartFailure('CreateContainerConfigError', message);
  };
  if (user === 0) refuse("container's runAsUser breaks non-root policy");
  if (user !== undefined) return;
  const [name = ''] = imageUser.split(':');
  if (name === '' || /^0+$/.test(name)) refuse('container has runAsNonRoot and image will run as root');
  if (!/^\d+$/.test(name))
    refuse(
      `container has runAsNonRoot and image has non-numeric user (${name}), cannot verify user is non-root`,
    );
}

/** The seccomp profile. As with kubelets without `seccompDefault`, a container without one is not confined. */
async function seccompOf(profile: SeccompProfile | undefined, folder: string): Promise<Seccomp> {
  if (!profile || profile.type === 'Unconfined') return 'unconfined';
  if (profile.type === 'RuntimeDefault') return 'default';
  const path = resolve(folder, profile.localhostProfile ?? '');
  if (!path.startsWith(join(folder, sep)))
    throw new StartFailure('CreateContainerError', 'the seccomp profile is outside of its folder');
  try {
    return { profile: await readFile(path, 'utf8'), path };
  } catch (error) {
    throw new StartFailure(
      'CreateContainerError',
      `cannot load seccomp profile ${JSON.stringify(profile.localhostProfile)}: ${(error as NodeJS.ErrnoException).code}`,
    );
  }
}
