/** A warning about an amount of bytes that is not a whole number. */
import { key } from '../../errors/field-error.ts';
import { goQuoted } from '../../model/go-format.ts';
import { isInteger, parseQuantity } from '../../values/quantity.ts';

export function* fractionWarning(
  amounts: Readonly<Record<string, string>> | undefined,
  name: string,
  path: string,
): Generator<string, void, undefined> {
  const amount = amounts?.[name];
  if (amount !== undefined && !isInteger(parseQuantity(amount)))
    yield `${key(path, name)}: fractional byte value ${goQuoted(amount)} is invalid, must be an integer`;
}
