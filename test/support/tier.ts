/**
 * Which tests run: before a release all, with long rounds (`npm run test:release`), else those that find what a change has
 * broken in some minutes (`npm test`).
 */
export const isRelease = process.env.WHERRY_RELEASE === '1';

/** How many cases a test makes up: with `npm test` a quarter of those before a release. */
export const rounds = (count: number): number => (isRelease ? count : Math.ceil(count / 4));
