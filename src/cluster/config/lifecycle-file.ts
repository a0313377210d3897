/** Lifecycles of a file, and those that a program hands in. */
import { readConfigurationFile } from '../options/configuration-file.ts';
import { type Lifecycle, lifecycles } from '../options/lifecycles.ts';
import { handedValue } from '../options/shape.ts';
import { StartError } from '../shared/start-error.ts';
import { fileValue } from './config-file.ts';

export const readLifecycles = (file: string): Promise<readonly Lifecycle[]> =>
  readConfigurationFile(file, 'the lifecycles', (text) => lifecycles.read(fileValue(text, file)));

/** Throws a `StartError`. Times are milliseconds here, which files write as `5s`. */
export function checkLifecycles(given: readonly Lifecycle[]): readonly Lifecycle[] {
  const refuse = (message: string): never => {
    throw new StartError(message);
  };
  const written = given.map((one) => ({
    ...one,
    stages: one.stages?.map((stage) => ({
      ...stage,
      ...(stage.after === undefined ? {} : { after: `${stage.after}ms` }),
      ...(stage.jitter === undefined ? {} : { jitter: `${stage.jitter}ms` }),
    })),
  }));
  return lifecycles.read(handedValue(written, ['lifecycles'], refuse));
}
