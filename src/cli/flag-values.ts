/** How options of the command are written: their forms for `parseArgs`, lists, truths, times and versions. */

/** Options of `up` and `serve`. */
const cluster = { for: ['up', 'serve'] } as const;
export const text = { type: 'string', ...cluster } as const;
export const list = { type: 'string', multiple: true, ...cluster } as const;
/** `--name`, `--name=true` or `--name=false`. */
export const truth = { type: 'string', truth: true, ...cluster } as const;

/** Throws an error for the user of the command. */
export type Refuse = (message: string) => never;

/** What `parseArgs` gives for some forms. */
export type ValuesOf<Forms> = {
  readonly [name in keyof Forms]?:
    | (Forms[name] extends { readonly multiple: true } ? readonly string[] : string)
    | undefined;
};

/** Options for truths may be given without a value, as with kube-apiserver; `parseArgs` wants one. */
export const withTruths = (args: readonly string[], forms: Readonly<Record<string, object>>): string[] =>
  args.map((arg) => (arg.startsWith('--') && 'truth' in (forms[arg.slice(2)] ?? {}) ? `${arg}=true` : arg));

/** Lists are given with commas, several times, or both. */
export const listOf = (values: readonly string[] | undefined): string[] | undefined =>
  values?.flatMap((value) => value.split(',')).filter(Boolean);

/** Pairs such as `apps/v1=false`; without a value, `true`. The last one of a name counts. */
export function runtimeConfigOf(
  values: readonly string[] | undefined,
  refuse: Refuse,
): Readonly<Record<string, boolean>> | undefined {
  const pairs = listOf(values)?.map((pair): [string, boolean] => {
    const [name = '', value = 'true'] = pair.split('=');
    if (value !== 'true' && value !== 'false')
      refuse(
        `--runtime-config must be names with true or false, such as apps/v1=false, not ${JSON.stringify(pair)}`,
      );
    return [name, value === 'true'];
  });
  return pairs && Object.fromEntries(pairs);
}

type Named<Name extends string> = { readonly [name in Name]?: string | undefined };

export function truthOf<Name extends string>(
  values: Named<Name>,
  name: Name,
  refuse: Refuse,
): boolean | undefined {
  const value = values[name];
  if (value === undefined) return undefined;
  if (value !== 'true' && value !== 'false')
    refuse(`--${name} must be true or false, not ${JSON.stringify(value)}`);
  return value === 'true';
}

/** Of the reviews that a webhook is sent. */
export function versionOf<Name extends string>(
  values: Named<Name>,
  name: Name,
  refuse: Refuse,
): 'v1' | 'v1beta1' | undefined {
  const value: string | undefined = values[name];
  if (value === undefined || value === 'v1' || value === 'v1beta1') return value;
  return refuse(`--${name} must be v1 or v1beta1, not ${JSON.stringify(value)}`);
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a time such as `1h30m`. */
export function timeOf<Name extends string>(
  values: Named<Name>,
  name: Name,
  refuse: Refuse,
): number | undefined {
  const value: string | undefined = values[name];
  if (value === undefined) return undefined;
  if (!/^(?:\d{1,9}(?:ms|s|m|h)){1,4}$/.test(value))
    refuse(`--${name} must be a time such as 30s, 2m or 24h, not ${JSON.stringify(value)}`);
  const parts = [...value.matchAll(/(\d+)(ms|s|m|h)/g)];
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * unitsMs[unit!]!, 0);
}

/**
 * Adds options about users to those of the secure door.
 * @param door false: it is closed, and options about its users are refused
 */
export function withDoor<Door extends object, Options extends object>(
  door: Door | false,
  forms: object,
  values: object,
  read: () => Options,
  refuse: Refuse,
): (Door & Options) | false {
  if (door) return { ...door, ...read() };
  const idle = Object.keys(forms).find((name) => (values as Record<string, unknown>)[name] !== undefined);
  return idle === undefined
    ? false
    : refuse(`--${idle} needs the secure door, which --secure-port off closes`);
}
