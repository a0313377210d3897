/** The option that turns the test kit on. */

/** For `parseArgs`. */
export const testingArgs = { testing: { type: 'boolean', for: ['up', 'serve'] } } as const;

export const testingHelp = `  --testing             serve the test kit under /wherry/testing on the port for plain HTTP: snapshots, clock, faults,
                        requests; needs --in-memory
`;

interface TestingValues {
  readonly testing?: boolean | undefined;
  readonly store?: string | undefined;
  readonly 'in-memory'?: boolean | undefined;
  readonly port?: string | undefined;
}

/** @param refuse throws */
export function readTesting(values: TestingValues, refuse: (message: string) => never): boolean {
  if (!values.testing) return false;
  if (!values['in-memory'] && values.store !== 'memory') refuse('--testing needs --in-memory');
  if (values.port === 'off') refuse('--testing needs the port for plain HTTP');
  return true;
}
