/**
 * Which tests run: before a release all, with long rounds (`npm run test:release`), else those that find what a change has
 * broken in some minutes (`npm test`).
 */
export const isRelease = process.env.WHERRY_RELEASE === '1';

/** How many cases a test makes up: with `npm test` a quarter of those before a release. */
export const rounds = (count: number): number => (isRelease ? count : Math.ceil(count / 4));

/**
 * Whether this is an older version of kubectl, and not a run before a release: tests that ask no more of its protocols than
 * others are left to the newest version.
 */
export const isOlderKubectl = !isRelease && process.env.WHERRY_OLDER_KUBECTL === '1';
