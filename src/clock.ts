/**
 * The wall clock, the only file of `src` that reads the time of day. Other parts take a clock as an option, so that
 * tests can set the time, and default to this one.
 */
export const wallClock = (): number => Date.now();
