/**
 * Tests that talk to kubectl run once for each version of it that is found, each as a project of its own; the other tests
 * are one project. `npm test` fetches versions; without it, those count that are on this machine.
 */
import { defineConfig } from 'vitest/config';
import { findKubectls } from './scripts/kubectls.mjs';

const all: Record<string, string> = JSON.parse(process.env.WHERRY_KUBECTLS ?? 'null') ?? findKubectls();

const kubectlTests = [
  'test/kubectl/*.test.ts',
  'test/streams/{attach,exec,lifecycle,logs,pods,portforward,proxy,terminal}.test.ts',
];

/** A project whose tests see these versions. */
const project = (name: string, kubectls: Record<string, string>, files: object) => ({
  extends: true as const,
  test: { name, env: { WHERRY_KUBECTLS: JSON.stringify(kubectls) }, ...files },
});

export default defineConfig({
  test: {
    setupFiles: ['test/seed.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    projects: [
      project('wherry', all, {
        include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
        exclude: ['**/node_modules/**', ...kubectlTests],
      }),
      ...Object.entries(all).map(([version, program]) =>
        project(`kubectl ${version}`, { [version]: program }, { include: kubectlTests }),
      ),
      ...(Object.keys(all).length ? [] : [project('no kubectl', {}, { include: kubectlTests })]),
    ],
  },
});
