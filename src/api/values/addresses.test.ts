/** Proves that IP addresses and ranges are accepted and refused with Kubernetes' texts, and read for what they mean. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isCIDR, isIP, parseCIDR, parseIP } from './addresses.ts';

const ipText = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const cidrText = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

type Case = [value: string, problems: string[]];

describe('addresses', () => {
  test.each<Case>([
    ['10.9.8.7', []],
    ['0.0.0.0', []],
    ['255.255.255.255', []],
    ['2001:db8::ffff', []],
    ['::', []],
    ['::1', []],
    ['1::', []],
    ['2001:DB8:0:0:0:0:0:1', []],
    ['::1.2.3.4', []],
    ['64:ff9b::10.0.0.1', []],
    ['010.1.2.3', ['must not have leading 0s']],
    ['1.2.3.004', ['must not have leading 0s']],
    ['::ffff:1.2.3.04', ['must not have leading 0s']],
    ['00001::', ['must not have leading 0s']],
    ['::ffff:1.2.3.4', ['must not be an IPv4-mapped IPv6 address']],
    ['::ffff:102:304', ['must not be an IPv4-mapped IPv6 address']],
    ...[
      '',
      'foo',
      '1.2.3',
      '1.2.3.4.5',
      '1.2.3.256',
      '1.2.3.',
      '1.2.3.-4',
      '1.2.3.4 ',
      ' 1.2.3.4',
      '1.2.3.4/24',
      '1.2.3.4:80',
      ':',
      ':::',
      '1:2',
      '1:2:3:4:5:6:7:8:9',
      '1:2:3:4:5:6:7:8::',
      '1::2::3',
      ':1::2',
      '1::2:',
      '12345::',
      'g::',
      'fe80::1%eth0',
      '1.2.3.4::',
      '::1.2.3.4:5',
      '::1.2.3',
      '1:2:3:4:5:6:7:1.2.3.4',
      '0x1.2.3.4',
      '[::1]',
    ].map((value): Case => [value, [ipText]]),
  ])('IP %j', (value, problems) => {
    expect(isIP(value)).toEqual(problems);
  });

  test.each<Case>([
    ['10.9.8.0/24', []],
    ['0.0.0.0/0', []],
    ['1.2.3.4/32', []],
    ['2001:db8::/64', []],
    ['::/0', []],
    ['::1/128', []],
    ['010.0.0.0/8', ['must not have leading 0s in IP or prefix length']],
    ['10.0.0.0/08', ['must not have leading 0s in IP or prefix length']],
    ['::ffff:1.2.3.0/120', ['must not have an IPv4-mapped IPv6 address']],
    ['10.9.8.7/24', ['must not have bits set beyond the prefix length']],
    ['2001:db8::1/64', ['must not have bits set beyond the prefix length']],
    [
      '010.9.8.7/24',
      ['must not have leading 0s in IP or prefix length', 'must not have bits set beyond the prefix length'],
    ],
    [
      '::ffff:1.2.3.4/120',
      ['must not have an IPv4-mapped IPv6 address', 'must not have bits set beyond the prefix length'],
    ],
    ...[
      '',
      'x',
      '10.0.0.0',
      '10.0.0.0/',
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/-1',
      '10.0.0.0/+8',
      '10.0.0.0/8/8',
      '/8',
      'x/8',
      '10.0.0.0/8 ',
    ].map((value): Case => [value, [cidrText]]),
  ])('CIDR %j', (value, problems) => {
    expect(isCIDR(value)).toEqual(problems);
  });

  test('reading addresses', () => {
    expect(parseIP('1.2.3.4')).toEqual({ family: 4, value: 0x01020304n });
    expect(parseIP('010.2.3.4')).toEqual({ family: 4, value: 0x0a020304n });
    expect(parseIP('::ffff:1.2.3.4')).toEqual({ family: 4, value: 0x01020304n });
    expect(parseIP('::1')).toEqual({ family: 6, value: 1n });
    expect(parseIP('2001:db8::1:2')).toEqual({ family: 6, value: (0x20010db8n << 96n) | 0x10002n });
    expect(parseIP('nope')).toBeUndefined();
    expect(parseCIDR('10.9.8.7/24')).toEqual({
      family: 4,
      value: 0x0a090807n,
      prefixLength: 24,
      first: 0x0a090800n,
      last: 0x0a0908ffn,
    });
    expect(parseCIDR('::/0')).toEqual({
      family: 6,
      value: 0n,
      prefixLength: 0,
      first: 0n,
      last: 2n ** 128n - 1n,
    });
    expect(parseCIDR('1.2.3.4/32')).toMatchObject({ first: 0x01020304n, last: 0x01020304n });
    expect(parseCIDR('10.0.0.0')).toBeUndefined();
  });

  test('every address that can be written can be read', () => {
    fc.assert(
      fc.property(fc.ipV4(), (text) => {
        const value = text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
        expect(parseIP(text)).toEqual({ family: 4, value });
        expect(isIP(text)).toEqual([]);
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        expect(parseIP(text)).toBeDefined();
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }), (groups) => {
        const value = groups.reduce((sum, group) => (sum << 16n) | BigInt(group), 0n);
        fc.pre(value >> 32n !== 0xffffn);
        expect(parseIP(groups.map((group) => group.toString(16)).join(':'))).toEqual({ family: 6, value });
      }),
    );
  });
});

test('three megabytes of anything are answered, not pondered', () => {
  const size = 3_000_000;
  for (const unit of ['a', '.', '0', ':', '1:', '::', '/', '1.'])
    for (const check of [isIP, isCIDR]) expect(check(unit.repeat(size / unit.length))).toHaveLength(1);
});
