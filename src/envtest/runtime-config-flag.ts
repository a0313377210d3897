/** Parses `--runtime-config`. Separate from the checks of flags, which the server itself does not need. */
import { type FlagValues, listOf, truthOf } from './flag.ts';

/** Which versions and resources are switched on and off; a name without a value is switched on. */
export const runtimeConfigOf = (values: FlagValues): Readonly<Record<string, boolean>> =>
  Object.fromEntries(
    listOf(values, 'runtime-config').map((pair) => {
      const [name = '', value = ''] = pair.split('=');
      return [name, value === '' || truthOf(value) === true];
    }),
  );
