/** The options of `wherry kubeconfig`: names, help, and how values are read. */
import type { KubeconfigOptions } from '../cluster/access/user-kubeconfig.ts';

const only = { for: ['kubeconfig'] } as const;

/** For `parseArgs`. */
export const kubeconfigArgs = {
  user: { type: 'string', ...only },
  group: { type: 'string', multiple: true, ...only },
  expires: { type: 'string', ...only },
  output: { type: 'string', ...only },
  merge: { type: 'string', ...only },
} as const;

export const kubeconfigHelp = `  --user NAME           the user (default: the administrator)
  --group NAME          a group of the user; may be repeated
  --expires TIME        how long it is valid, such as 90m, 12h or 30d (default 365d)
  --server URL          where the server is (default: where the last start of the data folder was reached)
  --output FILE         write it to a file, that only its owner may read, instead of printing it
  --merge FILE          add it to a kubeconfig that there is, and make it the current one
  --data-dir FOLDER     the folder of the cluster, whose authority signs it (default .wherry)
`;

export interface KubeconfigLine extends KubeconfigOptions {
  readonly command: 'kubeconfig';
}

export interface KubeconfigValues {
  readonly user?: string | undefined;
  readonly group?: string[] | undefined;
  readonly expires?: string | undefined;
  readonly output?: string | undefined;
  readonly merge?: string | undefined;
  readonly server?: string | undefined;
  readonly 'data-dir'?: string | undefined;
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
/** As long as the authority itself. */
const expiresMaxMs = 10 * 365 * 86_400_000;
const nameCharsMax = 253;

/** @param refuse throws */
export function readKubeconfigLine(
  values: KubeconfigValues,
  refuse: (message: string) => never,
): KubeconfigLine {
  const { user, group, output, merge, server } = values;
  for (const [option, name] of [['--user', user], ...(group ?? []).map((one) => ['--group', one])])
    if (name !== undefined && (name === '' || name.length > nameCharsMax))
      refuse(`${option} must be a name of 1 to ${nameCharsMax} characters`);
  if (group && user === undefined) refuse('--group needs --user');
  if (output !== undefined && merge !== undefined) refuse('--output and --merge exclude each other');
  if (server !== undefined && !(URL.canParse(server) && server.startsWith('https:')))
    refuse(`--server must be a URL that begins with https:, not ${JSON.stringify(server)}`);
  return {
    command: 'kubeconfig',
    dataDir: values['data-dir'] ?? '.wherry',
    user,
    groups: group ?? [],
    lifeMs: values.expires === undefined ? undefined : lifeOf(values.expires, refuse),
    server,
    output,
    merge,
  };
}

function lifeOf(value: string, refuse: (message: string) => never): number {
  const [, number, unit] = /^(\d{1,6})([mhd])$/.exec(value) ?? [];
  const ms = Number(number) * (unitsMs[unit ?? ''] ?? Number.NaN);
  if (ms > 0 && ms <= expiresMaxMs) return ms;
  return refuse(
    `--expires must be a time such as 90m, 12h or 30d, at most 3650d, not ${JSON.stringify(value)}`,
  );
}
