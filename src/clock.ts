/**
 * The wall clock. No other file of `src` reads the time of day: parts take a clock as an option, so that a test can decide
 * what time it is, and use this one when they are given none.
 */
export const wallClock = (): number => Date.now();
