/** The kubectls of this machine. Apart from what runs them, which loads all sources: many tests ask only for these. */

/** A kubectl on this machine; the version has the form `1.20`. */
export interface KubectlProgram {
  readonly version: string;
  readonly program: string;
}

/** The versions for the tests of this project: see `vitest.config.ts`. */
export const kubectls: readonly KubectlProgram[] = Object.entries(
  JSON.parse(process.env.WHERRY_KUBECTLS ?? '{}') as Record<string, string>,
).map(([version, program]) => ({ version, program }));
