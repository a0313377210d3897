/** Proves that `globalThis.gc` is available, and that no V8 flag stays changed. */
import { runInNewContext } from 'node:vm';
import { afterEach, expect, it } from 'vitest';
import { exposeCollector } from './collector.ts';

const global = globalThis as { gc?: (options: { type: 'minor' }) => void };

afterEach(() => {
  Reflect.deleteProperty(globalThis, 'gc');
});

it('exposes the collector, and nothing to others', () => {
  exposeCollector();
  const { gc } = global;
  gc!({ type: 'minor' });
  expect(global.gc).toBe(gc);
  expect(runInNewContext('typeof gc')).toBe('undefined');
});

it('leaves a collector that is exposed already', () => {
  const own = () => undefined;
  global.gc = own;
  exposeCollector();
  expect(global.gc).toBe(own);
});
