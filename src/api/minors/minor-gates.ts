/** Feature gates by minor: their stage, whether they are on, and whether they can be changed. */
import { valueAt, versionTables } from './version-tables.ts';

const stages = { a: 'alpha', b: 'beta', g: 'stable', d: 'deprecated' } as const;

export interface GateState {
  readonly stage: (typeof stages)[keyof typeof stages];
  readonly isOn: boolean;
  /** It cannot be changed. */
  readonly isLocked: boolean;
}

/** Gates of logging and of clients, which are in no table. */
const others: ReadonlySet<string> = new Set([
  'AllAlpha',
  'AllBeta',
  'ClientsAllowCBOR',
  'ClientsPreferCBOR',
  'ContextualLogging',
  'InOrderInformers',
  'InformerResourceVersion',
  'LoggingAlphaOptions',
  'LoggingBetaOptions',
  'WatchListClient',
]);

/** Why gates cannot be set so in a minor, in the words of kube-apiserver; undefined: they can. */
export function gateProblem(gates: Readonly<Record<string, boolean>>, minor: number): string | undefined {
  for (const [name, wanted] of Object.entries(gates)) {
    const state = gateState(name, minor);
    if (!state && !others.has(name)) return `unrecognized feature gate: ${name}`;
    if (state?.isLocked && state.isOn !== wanted)
      return `cannot set feature gate ${name} to ${wanted}, feature is locked to ${state.isOn}`;
  }
  return undefined;
}

/** Whether a gate is on by default; one that has gone stays as it was, because its feature has become a part of all. */
export function isOnByDefault(name: string, minor: number): boolean {
  for (let at = minor; at >= 0; at--) {
    const state = gateState(name, at);
    if (state) return state.isOn;
  }
  return false;
}

/** undefined: this minor does not know the gate. */
export function gateState(name: string, minor: number): GateState | undefined {
  const rows = Object.hasOwn(versionTables.gates, name) ? versionTables.gates[name]! : {};
  const text = valueAt(rows, minor);
  if (!text) return undefined;
  return {
    stage: stages[text[0] as keyof typeof stages],
    isOn: text[1] === '+',
    isLocked: text.endsWith('!'),
  };
}
