/** What a `caBundle` makes of a TLS connection. */
import type { ConnectionOptions } from 'node:tls';

/** As in Go, a certificate of the bundle is trusted by itself, also if it is the server's own and no authority. */
export const bundleTrust = (
  caBundle: string | undefined,
): Pick<ConnectionOptions, 'ca' | 'allowPartialTrustChain'> =>
  caBundle ? { ca: Buffer.from(caBundle, 'base64').toString('latin1'), allowPartialTrustChain: true } : {};
