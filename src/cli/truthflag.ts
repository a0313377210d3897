/** Options that are true or false. They may be given without a value, as with kube-apiserver. */

/** `--name`, `--name=true` or `--name=false`; for `parseArgs`. */
export const truth = { type: 'string', truth: true, for: ['up', 'serve'] } as const;

/** `parseArgs` wants a value. */
export const withTruths = (args: readonly string[], forms: Readonly<Record<string, object>>): string[] =>
  args.map((arg) => (arg.startsWith('--') && 'truth' in (forms[arg.slice(2)] ?? {}) ? `${arg}=true` : arg));

/** @param refuse throws */
export function truthIn(
  value: string | undefined,
  name: string,
  refuse: (message: string) => never,
): boolean | undefined {
  if (value === undefined) return undefined;
  if (value !== 'true' && value !== 'false')
    refuse(`--${name} must be true or false, not ${JSON.stringify(value)}`);
  return value === 'true';
}
