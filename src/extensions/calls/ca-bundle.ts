/** TLS options for a `caBundle`. */
import type { TrustedOptions } from '../../pki/trusted-tls.ts';

export const bundleTrust = (caBundle: string | undefined): Pick<TrustedOptions, 'ca'> =>
  caBundle ? { ca: Buffer.from(caBundle, 'base64').toString('latin1') } : {};
