/** The options of `wherry token`: names, help, and how values are read. */
import type { TokenOptions } from '../cluster/access/bootstrap-tokens.ts';

const only = { for: ['token'] } as const;

/** For `parseArgs`. */
export const tokenArgs = {
  ttl: { type: 'string', ...only },
  description: { type: 'string', ...only },
  groups: { type: 'string', ...only },
  'print-join-command': { type: 'string', ...only },
} as const;

export const tokenHelp = `  --ttl TIME            how long the token can be used, such as 90m, 12h or 7d; 0 for ever (default 24h)
  --description TEXT    what it is for
  --groups LIST         groups of who uses it, which begin with system:bootstrappers: (default: the one that may join)
  --print-join-command false
                        print the token alone
  --data-dir FOLDER     the folder of the running cluster (default .wherry)
`;

export interface TokenLine extends TokenOptions {
  readonly command: 'token';
}

export interface TokenValues {
  readonly ttl?: string | undefined;
  readonly description?: string | undefined;
  readonly groups?: string | undefined;
  readonly 'print-join-command'?: string | undefined;
  readonly 'data-dir'?: string | undefined;
}

const actions = ['create', 'list', 'delete'] as const;
const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const descriptionCharsMax = 1_000;

/** @param refuse throws */
export function readTokenLine(
  values: TokenValues,
  words: readonly string[],
  refuse: (message: string) => never,
): TokenLine {
  const [wanted = '', ...rest] = words;
  const action = actions.find((one) => one === wanted);
  if (!action) return refuse(`token takes create, list or delete, not ${JSON.stringify(wanted)}`);
  if (action === 'delete' ? rest.length !== 1 : rest.length !== 0)
    refuse(action === 'delete' ? 'token delete takes one token' : `token ${action} takes options only`);
  const { ttl = '24h', description, groups, 'print-join-command': print = 'true' } = values;
  if (action !== 'create')
    for (const name of ['ttl', 'description', 'groups', 'print-join-command'] as const)
      if (values[name] !== undefined) refuse(`token ${action} does not take --${name}`);
  if (print !== 'true' && print !== 'false') refuse('--print-join-command must be true or false');
  if ((description?.length ?? 0) > descriptionCharsMax)
    refuse(`--description must have at most ${descriptionCharsMax} characters`);
  return {
    command: 'token',
    action,
    dataDir: values['data-dir'] ?? '.wherry',
    token: rest[0],
    ttlMs: lifeOf(ttl, refuse),
    description,
    groups: groups?.split(',').filter(Boolean),
    printJoinCommand: print === 'true',
  };
}

function lifeOf(value: string, refuse: (message: string) => never): number {
  if (value === '0') return 0;
  const [, number, unit] = /^(\d{1,6})([mhd])$/.exec(value) ?? [];
  const ms = Number(number) * (unitsMs[unit ?? ''] ?? Number.NaN);
  return ms > 0
    ? ms
    : refuse(`--ttl must be a time such as 90m, 12h or 7d, or 0, not ${JSON.stringify(value)}`);
}
