/** All tests that talk to each version of kubectl, as one file for the versions beside the newest; see vitest.config.ts. */
(import.meta as unknown as { glob: (pattern: string, options: object) => unknown }).glob(
  '../**/*.every-kubectl.test.ts',
  { eager: true },
);
