/** Proves that the switches are read from the environment, and what they do. */
import { afterEach, describe, expect, it, vi } from 'vitest';

type Switches = typeof import('./switches.ts');

async function switches(environment: Record<string, string | undefined>): Promise<Switches> {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  vi.resetModules();
  return import('./switches.ts');
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

describe('WHERRY_PLAIN', () => {
  it.each([
    [undefined, true],
    ['', true],
    ['0', true],
    ['1', false],
  ])('of %j means that optimisations are on: %j', async (value, optimized) => {
    expect((await switches({ WHERRY_PLAIN: value })).optimized).toBe(optimized);
  });
});

describe('WHERRY_ASSERT', () => {
  it('is on in tests', async () => {
    expect((await switches({})).asserting).toBe(true);
  });

  it('overwrites what is poisoned', async () => {
    const { poison, poisonByte } = await switches({ WHERRY_ASSERT: '1' });
    const memory = Buffer.from('given back');
    poison(memory);
    expect(memory.every((byte) => byte === poisonByte)).toBe(true);
  });

  it('leaves memory alone when it is off', async () => {
    const { asserting, poison } = await switches({ WHERRY_ASSERT: undefined });
    const memory = Buffer.from('given back');
    poison(memory);
    expect([asserting, memory.toString()]).toEqual([false, 'given back']);
  });
});
