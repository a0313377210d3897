/**
 * External tools used by the tests. `npm test` installs them (`scripts/tools.mjs`); the environment says
 * which are available.
 */
import { describe } from 'vitest';
import { kubectls } from '../kubectl/programs.ts';

const missing = (process.env.WHERRY_MISSING_TOOLS ?? '').split(',');

/** A suite that needs a tool, named as in `scripts/tools.mjs`: reported as skipped where the tool is missing. */
export function describeWith(
  tool:
    | 'kubectl'
    | 'python3-kubernetes'
    | 'golang'
    | 'etcd-server'
    | 'haproxy'
    | 'chromium'
    | 'zsh'
    | 'fish'
    | 'jest'
    | 'assemblers',
): typeof describe | typeof describe.skip {
  if (tool === 'jest') return describe.skipIf(!process.env.WHERRY_JEST);
  if (tool === 'assemblers')
    return describe.skipIf(missing.some((name) => name.startsWith('assembler for ')));
  if (tool !== 'kubectl') return describe.skipIf(missing.includes(tool));
  if (kubectls.length > 1) throw new Error('a test that uses kubectl is named *.kubectl.test.ts');
  return describe.skipIf(kubectls.length === 0);
}
