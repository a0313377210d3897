/** Amounts such as `500m` and `1Gi`, and versions such as `1.2.3-rc.1`. */
import {
  addQuantities,
  compareQuantities,
  isInteger,
  parseQuantity,
  type Quantity,
  QuantityError,
  sign,
  subtractQuantities,
  toNumber,
} from '../../values/quantity.ts';
import { define, type Overload, walkFirst } from '../values/functions.ts';
import { CelError, Opaque } from '../values/values.ts';

const intMax = 2n ** 63n - 1n;
const one = 1_000_000_000n;

class QuantityValue extends Opaque {
  readonly type = 'kubernetes.Quantity';
  constructor(readonly quantity: Quantity) {
    super();
  }
  equals(other: Opaque): boolean {
    return other instanceof QuantityValue && compareQuantities(this.quantity, other.quantity) === 0;
  }
}

function quantity(text: string): QuantityValue {
  try {
    return new QuantityValue(parseQuantity(text));
  } catch (error) {
    if (error instanceof QuantityError) throw new CelError(error.message);
    throw error;
  }
}

const isQuantity = (text: string): boolean => succeeds(() => quantity(text));

function fitsInt({ quantity }: QuantityValue): boolean {
  const whole = quantity.nano / one;
  return isInteger(quantity) && whole <= intMax && whole >= -intMax - 1n;
}

function asInteger(value: QuantityValue): bigint {
  if (!fitsInt(value)) throw new CelError('cannot convert value to integer');
  return value.quantity.nano / one;
}

const whole = (count: bigint): Quantity => ({ nano: count * one, family: 'DecimalSI' });
const walked = { cost: walkFirst };

export const quantityLibrary = (): readonly Overload[] => [
  define('quantity(string): Quantity', quantity, walked),
  define('isQuantity(string): bool', isQuantity, walked),
  define('Quantity.isInteger(): bool', fitsInt),
  define('Quantity.asInteger(): int', asInteger),
  define('Quantity.asApproximateFloat(): double', (value: QuantityValue) => toNumber(value.quantity)),
  define(
    'Quantity.add(Quantity): Quantity',
    (a: QuantityValue, b: QuantityValue) => new QuantityValue(addQuantities(a.quantity, b.quantity)),
  ),
  define(
    'Quantity.add(int): Quantity',
    (a: QuantityValue, b: bigint) => new QuantityValue(addQuantities(a.quantity, whole(b))),
  ),
  define(
    'Quantity.sub(Quantity): Quantity',
    (a: QuantityValue, b: QuantityValue) => new QuantityValue(subtractQuantities(a.quantity, b.quantity)),
  ),
  define(
    'Quantity.sub(int): Quantity',
    (a: QuantityValue, b: bigint) => new QuantityValue(subtractQuantities(a.quantity, whole(b))),
  ),
  define(
    'Quantity.isGreaterThan(Quantity): bool',
    (a: QuantityValue, b: QuantityValue) => compareQuantities(a.quantity, b.quantity) > 0,
  ),
  define(
    'Quantity.isLessThan(Quantity): bool',
    (a: QuantityValue, b: QuantityValue) => compareQuantities(a.quantity, b.quantity) < 0,
  ),
  define('Quantity.compareTo(Quantity): int', (a: QuantityValue, b: QuantityValue) =>
    BigInt(compareQuantities(a.quantity, b.quantity)),
  ),
  define('sign(Quantity): int', (value: QuantityValue) => BigInt(sign(value.quantity))),
];

class SemverValue extends Opaque {
  readonly type = 'kubernetes.Semver';
  constructor(
    readonly numbers: readonly [bigint, bigint, bigint],
    readonly prerelease: readonly string[],
  ) {
    super();
  }
  equals(other: Opaque): boolean {
    return other instanceof SemverValue && compareVersions(this, other) === 0;
  }
}

const semverCharsMax = 1000;
const digits = /^\d+$/;

/** Errors are those of the library that Kubernetes uses. */
function semver(text: string, normalize = false): SemverValue {
  if (text === '') throw new CelError('Version string empty');
  if (text.length > semverCharsMax) throw new CelError('Version string too long');
  const plain = normalize ? normalized(text) : text;
  const parts = plain.split('.');
  if (parts.length < 3) throw new CelError('No Major.Minor.Patch elements found');
  const [major = '', minor = ''] = parts;
  const rest = parts.slice(2).join('.');
  const [beforeBuild = '', build] = cut(rest, '+');
  const [patch = '', prerelease] = cut(beforeBuild, '-');
  const names = ['major', 'minor', 'patch'];
  const numbers = [major, minor, patch].map((number, index) => {
    const name = names[index] as string;
    if (!digits.test(number)) throw new CelError(`Invalid character(s) found in ${name} number "${number}"`);
    if (number.length > 1 && number.startsWith('0'))
      throw new CelError(
        `${name[0]?.toUpperCase()}${name.slice(1)} number must not contain leading zeroes "${number}"`,
      );
    if (BigInt(number) > 2n ** 64n - 1n)
      throw new CelError(`strconv.ParseUint: parsing "${number}": value out of range`);
    return BigInt(number);
  });
  const pre = prerelease === undefined ? [] : prerelease.split('.');
  for (const part of pre) {
    if (part === '') throw new CelError('Prerelease is empty');
    if (!/^[0-9A-Za-z-]+$/.test(part))
      throw new CelError(`Invalid character(s) found in prerelease "${part}"`);
    if (digits.test(part) && part.length > 1 && part.startsWith('0'))
      throw new CelError(`Numeric PreRelease version must not contain leading zeroes "${part}"`);
  }
  for (const part of build?.split('.') ?? []) {
    if (part === '') throw new CelError('Build meta data is empty');
    if (!/^[0-9A-Za-z-]+$/.test(part))
      throw new CelError(`Invalid character(s) found in build meta data "${part}"`);
  }
  return new SemverValue(numbers as unknown as [bigint, bigint, bigint], pre);
}

/** Takes off a `v`, fills up missing numbers and takes off leading zeros. */
function normalized(text: string): string {
  const rest = text.trim().replace(/^v/, '');
  const end = rest.search(/[-+]/);
  const core = end < 0 ? rest : rest.slice(0, end);
  const numbers = core.split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
  while (numbers.length < 3) numbers.push('0');
  return numbers.join('.') + (end < 0 ? '' : rest.slice(end));
}

function cut(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function compareVersions(a: SemverValue, b: SemverValue): number {
  for (let index = 0; index < 3; index++) {
    const left = a.numbers[index] as bigint;
    const right = b.numbers[index] as bigint;
    if (left !== right) return left < right ? -1 : 1;
  }
  // A version is above its own prereleases.
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return Number(a.prerelease.length === 0) - Number(b.prerelease.length === 0);
  for (let index = 0; index < Math.min(a.prerelease.length, b.prerelease.length); index++) {
    const difference = comparePrerelease(a.prerelease[index] as string, b.prerelease[index] as string);
    if (difference !== 0) return difference;
  }
  return Math.sign(a.prerelease.length - b.prerelease.length);
}

function comparePrerelease(a: string, b: string): number {
  const numeric = [digits.test(a), digits.test(b)];
  if (numeric[0] !== numeric[1]) return numeric[0] ? -1 : 1;
  if (numeric[0]) return BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0;
  return a < b ? -1 : a > b ? 1 : 0;
}

export const semverLibrary = (): readonly Overload[] => [
  define('semver(string): Semver', semver, walked),
  define('semver(string, bool): Semver', semver, walked),
  define('isSemver(string): bool', (text: string) => succeeds(() => semver(text)), walked),
  define(
    'isSemver(string, bool): bool',
    (text: string, normalize: boolean) => succeeds(() => semver(text, normalize)),
    walked,
  ),
  define('Semver.major(): int', ({ numbers }: SemverValue) => numbers[0]),
  define('Semver.minor(): int', ({ numbers }: SemverValue) => numbers[1]),
  define('Semver.patch(): int', ({ numbers }: SemverValue) => numbers[2]),
  define('Semver.isGreaterThan(Semver): bool', (a: SemverValue, b: SemverValue) => compareVersions(a, b) > 0),
  define('Semver.isLessThan(Semver): bool', (a: SemverValue, b: SemverValue) => compareVersions(a, b) < 0),
  define('Semver.compareTo(Semver): int', (a: SemverValue, b: SemverValue) => BigInt(compareVersions(a, b))),
];

/** Whether something runs without a CelError. */
export function succeeds(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch (error) {
    if (error instanceof CelError) return false;
    throw error;
  }
}
