/** Tools the tests talk to. `npm test` installs them; those it could not install are named in the environment. */
import { describe } from 'vitest';
import { kubectls } from './kubectl/kubectl.ts';

const missing = (process.env.WHERRY_MISSING_TOOLS ?? '').split(',');

/** A suite that needs a tool, named as in `scripts/test.mjs`: skipped, visibly, where `npm test` said that it is missing. */
export const describeWith = (tool: string): typeof describe | typeof describe.skip =>
  describe.skipIf(missing.includes(tool) || (tool === 'kubectl' && kubectls.length === 0));
