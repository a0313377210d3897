/** The options that name configuration files of admission, audit and encryption: names, help, and how values are read. */
import type { StartOptions } from '../cluster/index.ts';

const file = { type: 'string', for: ['up', 'serve'] } as const;

/** For `parseArgs`. */
export const protectionArgs = {
  'admission-control-config-file': file,
  'audit-policy-file': file,
  'encryption-provider-config': file,
} as const;

export const protectionHelp = `  --admission-control-config-file FILE
                        settings of admission plugins: exemptions and defaults of PodSecurity
  --audit-policy-file FILE
                        which requests are written down, at which stages, with which objects (default: all, without)
  --encryption-provider-config FILE
                        which resources are encrypted in the store, and by which keys
`;

export type ProtectionValues = { readonly [name in keyof typeof protectionArgs]?: string | undefined };

/** @param refuse throws */
export function readProtection(
  values: ProtectionValues,
  refuse: (message: string) => never,
): Pick<StartOptions, 'admissionConfigFile' | 'encryptionConfigFile'> {
  for (const name of Object.keys(protectionArgs) as (keyof ProtectionValues)[])
    if (values[name] === '') refuse(`--${name} must name a file`);
  return {
    admissionConfigFile: values['admission-control-config-file'],
    encryptionConfigFile: values['encryption-provider-config'],
  };
}
