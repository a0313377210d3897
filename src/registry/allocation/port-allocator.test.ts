/** A port range says why a port cannot be allocated, in Kubernetes' words. */
import { expect, test } from 'vitest';
import { PortAllocator, parsePortRange } from './port-allocator.ts';

test('ranges that can be used', () => {
  expect(parsePortRange('30000-32767')).toEqual({ first: 30_000, last: 32_767 });
  expect(parsePortRange('1-65535')).toEqual({ first: 1, last: 65_535 });
  expect(parsePortRange('7-7')).toEqual({ first: 7, last: 7 });
  for (const text of ['', '30000', '0-10', '10-9', '1-65536', 'a-b', '1-2-3', ' 1-2'])
    expect(parsePortRange(text), text).toBeUndefined();
});

test('ports inside, outside and taken', () => {
  const ports = new PortAllocator(parsePortRange('30000-32767')!);
  const outside = 'provided port is not in the valid range. The range of valid ports is 30000-32767';
  expect(ports.problemWith(30_000)).toBeUndefined();
  for (const port of [-1, 80, 29_999, 32_768]) expect(ports.problemWith(port), String(port)).toBe(outside);
  ports.pool.hold(30_000);
  expect(ports.problemWith(30_000)).toBe('provided port is already allocated');
});

test('the lowest ports are picked last', () => {
  const lowest = (text: string): number => new PortAllocator(parsePortRange(text)!).pool.pick(() => 0)!;
  expect(lowest('30000-32767')).toBe(30_086);
  expect(lowest('30000-30099')).toBe(30_016);
  expect(lowest('30000-30015')).toBe(30_000);
  expect(lowest('20000-32767')).toBe(20_128);
});
