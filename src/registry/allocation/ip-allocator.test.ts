/** A range gives out its addresses without network and broadcast, and keeps the first for its owner. */
import { expect, test } from 'vitest';
import { parseIP } from '../../api/values/addresses.ts';
import { IPAllocator, parseIPRanges } from './ip-allocator.ts';

const allocator = (text: string): IPAllocator => new IPAllocator(parseIPRanges(text)![0]!);

test('ranges that can be used', () => {
  for (const text of [
    '10.0.0.0/24',
    '10.0.0.0/8',
    '10.0.0.252/30',
    '192.168.0.0/16',
    'fd00::/108',
    'fd00::/64',
    '10.0.0.0/24,fd00::/108',
    'fd00::/108,10.0.0.0/24',
  ])
    expect(parseIPRanges(text), text).toBeDefined();
  for (const text of [
    '',
    '10.0.0.0',
    '10.0.0.1/24',
    '10.0.0.0/31',
    '0.0.0.0/0',
    'fd00::/63',
    'fd00::/127',
    'fd00::1/108',
    '10.0.0.0/24 ',
    '10.0.0.0/24,',
    '10.0.0.0/24, fd00::/108',
    '10.0.0.0/24,10.0.1.0/24',
    '10.0.0.0/24,fd00::/108,10.0.1.0/24',
  ])
    expect(parseIPRanges(text), text).toBeUndefined();
});

test('addresses inside, outside and taken', () => {
  const ips = allocator('10.0.0.0/24');
  const outside = 'the provided network does not match the current range';
  expect(ips.first).toBe('10.0.0.1');
  expect(ips.problemWith('10.0.0.2')).toBeUndefined();
  expect(ips.problemWith('10.0.0.254')).toBeUndefined();
  for (const ip of ['10.0.0.0', '10.0.0.255', '11.0.0.1', '::1', 'x'])
    expect(ips.problemWith(ip), ip).toBe(outside);
  ips.hold(parseIP('10.0.0.2')!.value);
  expect(ips.problemWith('10.0.0.2')).toBe('provided IP is already allocated');
});

test('the first address is for its owner, and for it once', () => {
  const ips = allocator('10.0.0.0/24');
  expect(ips.problemWith('10.0.0.1')).toBe('provided IP is already allocated');
  expect(ips.problemWith('10.0.0.1', true)).toBeUndefined();
  ips.hold(parseIP('10.0.0.1')!.value);
  expect(ips.problemWith('10.0.0.1', true)).toBe('provided IP is already allocated');
  expect(ips.problemWith('10.0.0.2', true)).toBeUndefined();
});

test('the lowest addresses are picked last', () => {
  const lowest = (text: string): string => allocator(text).pick(() => 0)!;
  expect(lowest('10.0.0.0/28')).toBe('10.0.0.2');
  expect(lowest('10.0.0.0/27')).toBe('10.0.0.17');
  expect(lowest('10.0.0.0/24')).toBe('10.0.0.17');
  expect(lowest('10.0.0.0/21')).toBe('10.0.0.129');
  expect(lowest('10.0.0.0/16')).toBe('10.0.1.1');
});

test('of IPv6, the highest address is given out, too, and large ranges have no end', () => {
  const ips = allocator('fd00::/124');
  expect(ips.first).toBe('fd00::1');
  expect(ips.problemWith('fd00::')).toBe('the provided network does not match the current range');
  expect(ips.problemWith('fd00::f')).toBeUndefined();
  expect(ips.problemWith('10.0.0.1')).toBe('the provided network does not match the current range');
  expect(allocator('fd00::/64').pick((bound) => bound - 1)).toBe('fd00::1:0:0');
  const large = allocator('fd00::/64');
  expect(large.problemWith('fd00::ffff:ffff:ffff:ffff')).toBeUndefined();
  large.hold(parseIP('fd00::ffff:ffff:ffff:ffff')!.value);
  expect(large.problemWith('FD00::ffff:ffff:ffff:ffff')).toBe('provided IP is already allocated');
});
