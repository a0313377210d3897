/** The options of admission and encryption: names, help, and how values are read. */
import type { StartOptions } from '../cluster/index.ts';
import { text as file, type Refuse, truth, truthOf, type ValuesOf } from './flag-values.ts';

/** For `parseArgs`. */
export const protectionArgs = {
  'admission-control-config-file': file,
  'allow-privileged': truth,
  'encryption-provider-config': file,
} as const;

export const protectionHelp = `  --admission-control-config-file FILE
                        settings of admission plugins: exemptions and defaults of PodSecurity
  --allow-privileged BOOL
                        let containers have securityContext.privileged (default false)
  --encryption-provider-config FILE
                        which resources are encrypted in the store, and by which keys
`;

export type ProtectionValues = ValuesOf<typeof protectionArgs>;

/** @param refuse throws */
export function readProtection(
  values: ProtectionValues,
  refuse: Refuse,
): Pick<StartOptions, 'admissionConfigFile' | 'allowPrivileged' | 'encryptionConfigFile'> {
  for (const name of Object.keys(protectionArgs) as (keyof ProtectionValues)[])
    if (values[name] === '' && name !== 'allow-privileged') refuse(`--${name} must name a file`);
  return {
    admissionConfigFile: values['admission-control-config-file'],
    allowPrivileged: truthOf(values, 'allow-privileged', refuse),
    encryptionConfigFile: values['encryption-provider-config'],
  };
}
