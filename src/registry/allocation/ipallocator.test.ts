/** A range gives out its addresses without network and broadcast, and keeps the first for its owner. */
import { expect, test } from 'vitest';
import { formatIPv4, IPAllocator, parseIPRange } from './ipallocator.ts';

const allocator = (text: string): IPAllocator => new IPAllocator(parseIPRange(text)!);

test('ranges that can be used', () => {
  for (const text of ['10.0.0.0/24', '10.0.0.0/8', '10.0.0.252/30', '192.168.0.0/16'])
    expect(parseIPRange(text), text).toBeDefined();
  for (const text of [
    '',
    '10.0.0.0',
    '10.0.0.1/24',
    '10.0.0.0/31',
    '0.0.0.0/0',
    '2001:db8::/64',
    '10.0.0.0/24 ',
  ])
    expect(parseIPRange(text), text).toBeUndefined();
});

test('addresses inside, outside and taken', () => {
  const ips = allocator('10.0.0.0/24');
  const outside = 'the provided network does not match the current range';
  expect(ips.first).toBe('10.0.0.1');
  expect(ips.problemWith('10.0.0.2')).toBeUndefined();
  expect(ips.problemWith('10.0.0.254')).toBeUndefined();
  for (const ip of ['10.0.0.0', '10.0.0.255', '11.0.0.1', '::1', 'x'])
    expect(ips.problemWith(ip), ip).toBe(outside);
  ips.hold(ips.numberOf('10.0.0.2')!);
  expect(ips.problemWith('10.0.0.2')).toBe('provided IP is already allocated');
});

test('the first address is for its owner, and for it once', () => {
  const ips = allocator('10.0.0.0/24');
  expect(ips.problemWith('10.0.0.1')).toBe('provided IP is already allocated');
  expect(ips.problemWith('10.0.0.1', true)).toBeUndefined();
  ips.hold(ips.numberOf('10.0.0.1')!);
  expect(ips.problemWith('10.0.0.1', true)).toBe('provided IP is already allocated');
  expect(ips.problemWith('10.0.0.2', true)).toBeUndefined();
});

test('the lowest addresses are picked last', () => {
  const lowest = (text: string): string => formatIPv4(allocator(text).pick(() => 0)!);
  expect(lowest('10.0.0.0/28')).toBe('10.0.0.2');
  expect(lowest('10.0.0.0/27')).toBe('10.0.0.17');
  expect(lowest('10.0.0.0/24')).toBe('10.0.0.17');
  expect(lowest('10.0.0.0/21')).toBe('10.0.0.129');
  expect(lowest('10.0.0.0/16')).toBe('10.0.1.1');
});

test('numbers above 2^31 are addresses too', () => {
  expect(formatIPv4(allocator('192.168.0.0/16').numberOf('192.168.1.2')!)).toBe('192.168.1.2');
});
