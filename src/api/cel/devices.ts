/** Expressions that select devices: what they may use, and what they must give. */
import { compile } from './cel.ts';
import type { Environment } from './checker.ts';
import { sizeBelow } from './declared-size.ts';
import { ruleFunctions } from './libraries/libraries.ts';
import { opaqueTypes } from './values/functions.ts';
import { bool, map, object, string, type Type, typeText } from './values/types.ts';

/** Steps that an expression may cost at most, by its estimate. */
const costMax = 1_000_000;
/** Sizes of what a device has: attributes in all, bytes of a text, of a driver. */
const attributesMax = 32;
const textBytesMax = 64;
const driverBytesMax = 63;

const sized = (type: Type, sizeMax: number): Type => ({ ...type, sizeMax });
const byDomain = (value: Type): Type =>
  sized(
    map(sized(string, driverBytesMax), sized(map(sized(string, attributesMax), value), attributesMax)),
    attributesMax,
  );

const device = object(
  'kubernetes.DRADevice',
  new Map<string, Type>([
    ['driver', sized(string, driverBytesMax)],
    ['attributes', byDomain({ kind: 'dyn', sizeMax: textBytesMax })],
    ['capacity', byDomain(sized(opaqueTypes.Quantity, 0))],
    ['allowMultipleAllocations', sized(bool, 0)],
  ]),
);

let environment: Environment | undefined;

/** What is wrong with an expression. */
export interface SelectorProblem {
  readonly reason: 'invalid' | 'forbidden';
  readonly text: string;
}

export function selectorProblem(expression: string): SelectorProblem | undefined {
  environment ??= {
    variables: new Map<string, Type>([['device', device]]),
    functions: ruleFunctions(),
    // The names of attributes follow a dot.
    declaredSize: (path) =>
      path.variable === 'device' ? sizeBelow(device, path.steps, ({ kind }) => kind === 'dyn') : undefined,
  };
  const { program, errors } = compile(expression, environment);
  if (!program) return { reason: 'invalid', text: `compilation failed: ${errors}` };
  const type = typeText(program.type);
  if (type !== 'bool' && type !== 'dyn')
    return { reason: 'invalid', text: `must evaluate to bool or the unknown type, not ${type}` };
  // A cost that is not known is bounded when the expression runs.
  if (program.costMax > costMax && Number.isFinite(program.costMax))
    return { reason: 'forbidden', text: 'too complex, exceeds cost limit' };
  return undefined;
}
