/** The variables of a container that is a process: those of its pod, and what any program expects. */
import type { ContainerLaunch } from '../runtime.ts';
import type { ContainerRoot } from './container-root.ts';
import type { ProcessUser } from './container-user.ts';

/**
 * The variables. `HOME` is that of the container's user, else the root of the container; never that of the agent's
 * user, whose files (such as `.kube/config`) a container must not read.
 */
export function processVariables(
  { env, container }: Pick<ContainerLaunch, 'env' | 'container'>,
  root: Pick<ContainerRoot, 'path'>,
  mark: string,
  { home }: ProcessUser,
): Record<string, string> {
  const [name = '', value = ''] = mark.split('=');
  return {
    ...(process.env['PATH'] ? { PATH: process.env['PATH'] } : {}),
    HOME: home || root.path,
    ...(container.tty ? { TERM: 'xterm' } : {}),
    ...env,
    WHERRY_ROOT: root.path,
    [name]: value,
  };
}

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
  /** Variables to set late, as `NAME=VALUE`, for the `env` program. */
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
