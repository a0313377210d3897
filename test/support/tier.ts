/**
 * Which tests run: before a release all, with long rounds (`npm run test:release`), else those that find what a change has
 * broken in some minutes (`npm test`).
 */
export const isRelease = process.env.WHERRY_RELEASE === '1';
