/** Proves that quantities are read, written back, compared and added as Kubernetes does it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  isInteger,
  milliValue,
  parseQuantity,
  type Quantity,
  QuantityError,
  roundUpToMilli,
  sign,
  subtractQuantities,
  toNumber,
} from './quantity.ts';

const shapeText =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const suffixText = "unable to parse quantity's suffix";
const numericText = 'unable to parse numeric part of quantity';

function messageOf(input: string | number): string {
  try {
    return `accepted as ${canonicalQuantity(input)}`;
  } catch (error) {
    expect(error).toBeInstanceOf(QuantityError);
    return (error as QuantityError).message;
  }
}

describe('canonical form', () => {
  // Each pair is what a current server answers outside resource lists.
  test.each<[string | number, string]>([
    ['0.5', '500m'],
    ['1.0', '1'],
    ['1500m', '1500m'],
    ['1000m', '1'],
    ['1000', '1k'],
    ['10000', '10k'],
    ['1000M', '1G'],
    ['1.10', '1100m'],
    ['1.000', '1'],
    ['-1.5', '-1500m'],
    ['+1.5', '1500m'],
    ['.5', '500m'],
    ['.500', '500m'],
    ['0.250', '250m'],
    ['1n', '1n'],
    ['0.1m', '100u'],
    ['1.0005', '1000500u'],
    [5, '5'],
    [1.5, '1500m'],
    [1000, '1k'],
    [-2, '-2'],
    [0, '0'],
    ['1000E', '1000E'],
    ['1000000000000000000000', '1000E'],
  ])('decimal SI %s is %s', (input, expected) => {
    expect(canonicalQuantity(input)).toBe(expected);
  });

  test.each([
    ['1024Ki', '1Mi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['3072Mi', '3Gi'],
    ['1000Ki', '1000Ki'],
    ['1025Ki', '1025Ki'],
    ['9Ki', '9Ki'],
    ['8Ki', '8Ki'],
    ['-2048Ki', '-2Mi'],
    ['0.5Ki', '512'],
    ['-0.5Ki', '-512'],
    ['2.5Ki', '2560'],
    ['0.0001Ki', '102400u'],
    ['1.0001Ki', '1024102400u'],
    ['1Pi', '1Pi'],
    ['1Ei', '1Ei'],
    ['7Ei', '7Ei'],
    ['8Ei', '9223372036854775807'],
    ['16Ei', '9223372036854775807'],
    ['-16Ei', '-9223372036854775807'],
  ])('binary SI %s is %s', (input, expected) => {
    expect(canonicalQuantity(input)).toBe(expected);
  });

  test.each([
    ['1.2e6', '1200e3'],
    ['100e1', '1e3'],
    ['1.5e3', '1500'],
    ['1e1', '10'],
    ['10e-1', '1'],
    ['1000e21', '1e24'],
    ['1e-10', '1e-9'],
    ['1e-2147483647', '1e-9'],
    ['-1e-10', '-1e-9'],
  ])('decimal exponent %s is %s', (input, expected) => {
    expect(canonicalQuantity(input)).toBe(expected);
  });

  test.each(['0', '00', '-0', '0Gi', '0.000', '0e5', '0e2147483647', '.', '0n', '0E'])(
    'zero %s is 0',
    (input) => {
      expect(canonicalQuantity(input)).toBe('0');
    },
  );

  test.each([
    ['1.0000000001', '1000000001n'],
    ['-1.0000000001', '-1000000001n'],
    ['0.9n', '1n'],
    ['0.0000000001', '1n'],
    ['0.00000000001Ki', '11n'],
  ])('%s is rounded away from zero to %s', (input, expected) => {
    expect(canonicalQuantity(input)).toBe(expected);
  });

  test.each([
    '+1',
    '5.',
    '1.250',
    '10.500',
    '1E3',
    '1e+3',
    '1e3',
    '12e6',
    '1e03',
    '123456789',
    '1048576',
    '9223372036854775808',
    '1E',
    '-1',
    '+5Ki',
    '+4Ki',
    '5.Ki',
    '+99Ti',
    '123456789012345678',
    '+123456789012345678',
    '1.234567890',
  ])('%s comes back as sent', (input) => {
    expect(canonicalQuantity(input)).toBe(input);
  });

  test.each([
    // one digit too many for the shortcut
    ['+1234567890123456789', '1234567890123456789'],
    // scale that is no multiple of three
    ['+1.5', '1500m'],
    // trailing thousand
    ['+1000', '1k'],
    ['1.250000', '1250m'],
    // leading zero
    ['01', '1'],
    ['01Ki', '1Ki'],
    // below nano
    ['+0.000000000001', '1n'],
    ['1.000000000001', '1000000001n'],
    // multiple of eight, fraction, too many digits for the suffix
    ['+8Ki', '8Ki'],
    ['+1.0Ki', '1Ki'],
    ['+100Ti', '100Ti'],
    ['+1Pi', '1Pi'],
    ['+123456789013Ki', '123456789013Ki'],
  ])('the shortcut does not cover %s, which is %s', (input, expected) => {
    expect(canonicalQuantity(input)).toBe(expected);
  });

  test('blanks around a quantity are dropped', () => {
    expect(canonicalQuantity(' \t+1 \n')).toBe('+1');
    expect(canonicalQuantity(' 0.5 ')).toBe('500m');
  });
});

describe('resource lists', () => {
  test.each<[string | number, string]>([
    ['1n', '1m'],
    ['0.1m', '1m'],
    ['1.0005', '1001m'],
    ['1.000500', '1001m'],
    ['1500u', '2m'],
    ['-1500u', '-2m'],
    ['0.0001Ki', '103m'],
    ['1.0001Ki', '1024103m'],
    ['1e-9', '1e-3'],
    ['500m', '500m'],
    ['+1', '+1'],
    ['1.250', '1.250'],
    ['1.5Gi', '1536Mi'],
    ['0', '0'],
    [1.5, '1500m'],
  ])('%s is rounded up to %s', (input, expected) => {
    expect(roundUpToMilli(input)).toBe(expected);
  });
});

describe('refusals', () => {
  test.each([
    '',
    ' ',
    'abc',
    '1.2.3',
    '..',
    '1..',
    '1 k',
    '١',
    '1a',
    '+',
    '-',
    'm',
    'Ki',
    '--1',
    '1e1e',
    '0x10',
    'NaN',
    '1,5',
    '1\n2',
  ])('shape: %j', (input) => {
    expect(messageOf(input)).toBe(shapeText);
  });

  test.each(['1kk', '1e', '1e+', '1ki', '1mi', '1K', '1i', '1Ki5', '1k5', '1-5', '1+5', '1ee5', '1E+'])(
    'suffix: %s',
    (input) => {
      expect(messageOf(input)).toBe(suffixText);
    },
  );

  test('numbers that are no amount', () => {
    expect(messageOf(Number.NaN)).toBe(shapeText);
    expect(messageOf(Number.POSITIVE_INFINITY)).toBe(shapeText);
  });

  test('hostile sizes are refused without being built', () => {
    expect(messageOf('1e999999999')).toBe(numericText);
    expect(messageOf('1e308')).toBe(numericText);
    expect(canonicalQuantity('1e306')).toBe('1e306');
    expect(messageOf(`1e${'9'.repeat(900)}`)).toBe(suffixText);
    expect(messageOf('1e2147483648')).toBe(suffixText);
    expect(messageOf('1e-2147483648')).toBe(suffixText);
    const million = 3_000_000;
    expect(messageOf('1'.repeat(million))).toBe(numericText);
    expect(messageOf(`0.${'0'.repeat(million)}1`)).toBe(numericText);
    expect(messageOf(`${'1'.repeat(million)}x`)).toBe(numericText);
    expect(messageOf('1'.repeat(1000))).toBe(numericText);
    expect(messageOf(`${'9'.repeat(1000)}x`)).toBe(shapeText);
    expect(canonicalQuantity(`${'9'.repeat(1000)}Ei`)).toBe('9223372036854775807');
    expect(canonicalQuantity(`0.${'0'.repeat(1000)}1`)).toBe('1n');
  });
});

describe('values', () => {
  const q = parseQuantity;

  test('compare numerically across families', () => {
    expect(compareQuantities(q('1Ki'), q('1k'))).toBe(1);
    expect(compareQuantities(q('1000m'), q('1'))).toBe(0);
    expect(compareQuantities(q('1e3'), q('1k'))).toBe(0);
    expect(compareQuantities(q('-1'), q('1n'))).toBe(-1);
  });

  test('a sum is written in the family of its first operand', () => {
    expect(formatQuantity(addQuantities(q('1Gi'), q('1024')))).toBe('1048577Ki');
    expect(formatQuantity(addQuantities(q('1k'), q('1Ki')))).toBe('2024');
    expect(formatQuantity(addQuantities(q('1e3'), q('1k')))).toBe('2e3');
    expect(formatQuantity(subtractQuantities(q('2Gi'), q('1Gi')))).toBe('1Gi');
    expect(formatQuantity(subtractQuantities(q('1Gi'), q('1Gi')))).toBe('0');
  });

  test('a zero takes the family of the other operand', () => {
    expect(formatQuantity(addQuantities(q('0'), q('1Gi')))).toBe('1Gi');
    expect(formatQuantity(subtractQuantities(q('0'), q('1Gi')))).toBe('-1Gi');
  });

  test('arithmetic forgets the text as sent', () => {
    expect(formatQuantity(addQuantities(q('+1'), q('0')))).toBe('1');
  });

  test('sums above exa keep their value', () => {
    const big = q('7Ei');
    const sum = addQuantities(addQuantities(big, big), q('2Ei'));
    expect(formatQuantity(sum)).toBe('16Ei');
    const huge: Quantity = { nano: 2n ** 80n * 10n ** 9n, family: 'BinarySI' };
    expect(formatQuantity(huge)).toBe('1048576Ei');
  });

  test('integer, sign, milli and float', () => {
    expect(isInteger(q('2'))).toBe(true);
    expect(isInteger(q('2000m'))).toBe(true);
    expect(isInteger(q('2001m'))).toBe(false);
    expect(sign(q('-1n'))).toBe(-1);
    expect(sign(q('0Ki'))).toBe(0);
    expect(sign(q('1'))).toBe(1);
    expect(milliValue(q('1.5'))).toBe(1500);
    expect(milliValue(q('1n'))).toBe(1);
    expect(milliValue(q('-1n'))).toBe(-1);
    expect(milliValue(q('1Ki'))).toBe(1_024_000);
    expect(toNumber(q('1500m'))).toBe(1.5);
    expect(toNumber(q('-0.1'))).toBe(-0.1);
    expect(toNumber(q('1n'))).toBe(1e-9);
    expect(toNumber(q('1Gi'))).toBe(1_073_741_824);
    expect(toNumber(q('9e306'))).toBe(9e306);
  });
});

describe('properties', () => {
  const suffix = fc.oneof(
    fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'),
    fc
      .tuple(fc.constantFrom('e', 'E', 'e+', 'E-', 'e-'), fc.nat(30))
      .map(([letter, power]) => letter + power),
  );
  const digits = fc.oneof(fc.bigInt(0n, 10n ** 20n).map(String), fc.stringMatching(/^[0-9]{1,6}(000)?$/));
  const text = fc
    .tuple(fc.constantFrom('', '', '+', '-'), digits, fc.option(fc.stringMatching(/^[0-9]{0,12}$/)), suffix)
    .map(([mark, whole, fraction, end]) => `${mark}${whole}${fraction === null ? '' : `.${fraction}`}${end}`);
  const quantity = text.map(parseQuantity);

  test('canonical is idempotent, also in resource lists', () => {
    fc.assert(
      fc.property(text, (input) => {
        const once = canonicalQuantity(input);
        expect(canonicalQuantity(once)).toBe(once);
        const rounded = roundUpToMilli(input);
        expect(roundUpToMilli(rounded)).toBe(rounded);
      }),
      { numRuns: rounds(2000) },
    );
  });

  test('writing keeps the value; rounding moves it up by less than a milli', () => {
    fc.assert(
      fc.property(text, (input) => {
        const { nano } = parseQuantity(input);
        expect(parseQuantity(canonicalQuantity(input)).nano).toBe(nano);
        // Without the text as sent, the written form is the canonical one.
        const { family } = parseQuantity(input);
        expect(parseQuantity(formatQuantity({ nano, family })).nano).toBe(nano);
        const rounded = parseQuantity(roundUpToMilli(input)).nano;
        const moved = nano < 0n ? nano - rounded : rounded - nano;
        expect(moved >= 0n && moved < 10n ** 6n && rounded % 10n ** 6n === 0n).toBe(true);
      }),
      { numRuns: rounds(2000) },
    );
  });

  test('the value is the one a plain model computes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('', '-', '+'),
        fc.bigInt(0n, 10n ** 12n),
        fc.stringMatching(/^[0-9]{0,12}$/),
        fc.integer({ min: -12, max: 20 }),
        (mark, whole, fraction, power) => {
          // Everything as a whole number of 10^-30: enough for twelve digits below 10^-12.
          const fine = BigInt(`${whole}${fraction}`) * 10n ** BigInt(30 - fraction.length + power);
          const unit = 10n ** 21n;
          const size = (fine + unit - 1n) / unit;
          const expected = mark === '-' ? -size : size;
          expect(parseQuantity(`${mark}${whole}.${fraction}e${power}`).nano).toBe(expected);
        },
      ),
    );
  });

  test('compare is a total order', () => {
    fc.assert(
      fc.property(quantity, quantity, quantity, (a, b, c) => {
        expect(compareQuantities(a, a)).toBe(0);
        expect(compareQuantities(a, b)).toBe(compareQuantities(b, a) === 0 ? 0 : -compareQuantities(b, a));
        const sorted = [a, b, c].sort(compareQuantities);
        expect(compareQuantities(sorted[0]!, sorted[2]!)).toBeLessThanOrEqual(0);
      }),
    );
  });

  test('subtracting undoes adding', () => {
    fc.assert(
      fc.property(quantity, quantity, (a, b) => {
        expect(compareQuantities(subtractQuantities(addQuantities(a, b), b), a)).toBe(0);
      }),
    );
  });

  test('any text is answered or refused with one of the three texts', () => {
    const alphabet = fc.constantFrom(...'0123456789.+-eEinumkKMGTP x');
    fc.assert(
      fc.property(fc.string({ unit: alphabet, maxLength: 12 }), (input) => {
        const message = messageOf(input);
        if (!message.startsWith('accepted')) expect([shapeText, suffixText, numericText]).toContain(message);
      }),
      { numRuns: rounds(3000) },
    );
  });
});
