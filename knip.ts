/**
 * What must be used: every file, dependency and export.
 *
 * - `knip`, run by `npm test`, counts tests as users. An export that nothing imports must lose its `export`.
 * - `knip --production`, run by `npm run check` and before a release, looks at the program alone. What only tests use must go; an export that its own file uses may stay,
 *   because a test may check a bound or a pure function directly.
 */
import type { KnipConfig } from 'knip';

const production = process.argv.includes('--production');

const config: KnipConfig = {
  entry: [
    'src/cluster/index.ts!',
    'src/cli/bundle.ts!',
    'src/cli/launch.ts!',
    'src/envtest/launch-apiserver.ts!',
    'src/envtest/launch-etcd.ts!',
    // Built into files of their own: the thread that writes to LMDB, and a process that damage.alone.test.ts runs.
    'src/store/lmdb-thread.ts!',
    'src/store/damage.fixture.ts',
    'src/store/power-cut.fixture.ts',
    'web/main.tsx!',
    'scripts/*.mjs',
    // Found by attack.test.ts, all of the folder.
    'test/attack/attacks/*.ts',
    'vitest.config.ts',
    '{src,test,web}/**/*.test.ts',
    // Named in vitest.config.ts, the second where there is an older kubectl.
    'test/support/setup.ts',
    'test/kubectl/every-kubectl.suite.ts',
    'bench/**/*.mjs',
    'examples/*/run.mjs',
  ],
  project: [
    'src/**/*.ts!',
    '!src/**/*.{test,fixture,suite}.ts!',
    'web/**/*.{ts,tsx}!',
    '!web/**/*.{test,fixture,suite}.ts!',
    'test/**/*.ts',
    'scripts/**/*.mjs',
    'bench/**/*.mjs',
    'examples/**/*.mjs',
  ],
  // It would load the configuration, which compiles all sources: what that names is above.
  vitest: false,
  include: ['files', 'dependencies', 'unlisted', 'unresolved', 'exports', 'types', 'duplicates'],
  // Run by scripts/checks.mjs and package.release.test.ts; named in a template by json-patch.test.ts; read as text by browser.ts.
  ignoreDependencies: [
    '@arethetypeswrong/cli',
    '@biomejs/biome',
    'axe-core',
    'dependency-cruiser',
    'json-patch-test-suite',
    'typescript-native',
  ],
  ignoreExportsUsedInFile: production,
  // One type per model of the field tables, whether or not the code names it yet.
  ignoreIssues: { 'src/api/generated/types.ts': ['types'] },
};

export default config;
