/** Feature gates by minor: their stage, whether they are on, and whether they can be changed. */
import { valueAt, versionTables } from './version-tables.ts';

const stages = { a: 'alpha', b: 'beta', g: 'stable', d: 'deprecated' } as const;

export interface GateState {
  readonly stage: (typeof stages)[keyof typeof stages];
  readonly isOn: boolean;
  /** It cannot be changed. */
  readonly isLocked: boolean;
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
