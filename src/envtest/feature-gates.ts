/**
 * `--feature-gates`: the names of kube-apiserver's gates, and those that switch off something that is served here.
 * Gates that its release has locked can only be set to their locked value.
 */
import file from './feature-gates.json' with { type: 'json' };
import { type FlagValues, listOf, truthOf } from './flag.ts';

const known = new Map<string, boolean | undefined>([
  ...file.free.map((name): [string, undefined] => [name, undefined]),
  ...file.on.map((name): [string, boolean] => [name, true]),
  ...file.off.map((name): [string, boolean] => [name, false]),
]);
/** The component before a colon; there is only one. */
const component = 'kube';

/** kube-apiserver's messages about gates that cannot be set. */
export const gateProblems = (values: FlagValues): string[] =>
  listOf(values, 'feature-gates').flatMap(problemOf);

/** Beta gates: one flag switches off all that are not named individually. */
const betaGates: readonly string[] = ['APIResponseCompression', 'WatchList'];

/** Whether a gate is closed whose feature is served here. */
export function isGateClosed(
  values: FlagValues,
  gate: 'APIResponseCompression' | 'MutatingAdmissionPolicy' | 'WatchList',
): boolean {
  const given = new Map(
    listOf(values, 'feature-gates')
      .map(partsOf)
      .map(({ name, value }) => [name, truthOf(value)]),
  );
  return (given.get(gate) ?? (betaGates.includes(gate) ? given.get('AllBeta') : undefined)) === false;
}

/** The gates that are named, and whether they are on. */
export const gatesOf = (values: FlagValues): Readonly<Record<string, boolean>> =>
  Object.fromEntries(
    listOf(values, 'feature-gates')
      .map(partsOf)
      .map(({ name, value }) => [name, truthOf(value) === true]),
  );

function partsOf(gate: string): { owner: string; name: string; value: string } {
  const [, owner = component, pair = ''] = /^(?:([^=:]*):)?(.*)$/s.exec(gate)!;
  const [name = '', value = ''] = pair.split('=');
  return { owner, name, value };
}

function problemOf(gate: string): string[] {
  const { owner, name, value } = partsOf(gate);
  if (owner !== component) return [`component not registered: ${owner}`];
  if (!known.has(name)) return [`unrecognized feature gate: ${name}`];
  const wanted = truthOf(value);
  if (wanted === undefined)
    return [
      `invalid value of ${name}=${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`,
    ];
  const fixed = known.get(name);
  if (fixed === undefined || fixed === wanted) return [];
  return [`cannot set feature gate ${name} to ${wanted}, feature is locked to ${fixed}`];
}
