/**
 * Switches for debugging, read from the environment once, when the process starts.
 *
 * `WHERRY_PLAIN=1` turns every optimisation of `docs/performance.md` off: each checks `optimized`, and runs simple
 * code when it is false. Clients see no difference. A failure that goes away with it is in an optimisation.
 *
 * `WHERRY_ASSERT=1` makes misuse of shared memory visible: released memory is overwritten, and shared objects are
 * frozen. The tests run with it; it costs too much for a server.
 */
export const optimized = process.env['WHERRY_PLAIN'] !== '1';

export const asserting = process.env['WHERRY_ASSERT'] === '1';

/** When asserting, overwrites memory that must not be read any more, so that a wrong reader gets obvious nonsense. */
export function poison(memory: Uint8Array): void {
  if (asserting) memory.fill(poisonByte);
}

/** Repeated, it is invalid UTF-8, and so neither JSON nor an HTTP header. */
export const poisonByte = 0xdb;
