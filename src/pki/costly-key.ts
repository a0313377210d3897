/** Public keys that are made to take long: nobody needs them, and Go, and so Kubernetes, refuses them. */
import type { KeyObject, X509Certificate } from 'node:crypto';

/** RSA keys have at most so many bits, as in Go's TLS. */
const modulusBitsMax = 8_192;
/** The public exponent, as in Go. One as long as the modulus makes a check take a hundred times as long. */
const exponentMax = 2n ** 31n - 1n;
/** The curves of NIST that Go knows. */
const curves: ReadonlySet<string> = new Set(['secp224r1', 'prime256v1', 'secp384r1', 'secp521r1']);

/** What is wrong with the key of a certificate, which may be one that OpenSSL cannot read; undefined: nothing. */
export function costlyKeyOf(certificate: X509Certificate): string | undefined {
  let key: KeyObject;
  try {
    key = certificate.publicKey;
  } catch {
    return 'the key of the certificate cannot be read';
  }
  return costlyKey(key);
}

/** What is wrong with a key; undefined: nothing. */
export function costlyKey({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details,
}: KeyObject): string | undefined {
  if (type === 'rsa' || type === 'rsa-pss') {
    const { modulusLength = 0, publicExponent = 0n } = details ?? {};
    if (modulusLength > modulusBitsMax) return 'the key of the certificate is too long';
    return publicExponent > exponentMax
      ? 'the exponent of the key of the certificate is too large'
      : undefined;
  }
  if (type === 'ec' && !curves.has(details?.namedCurve ?? ''))
    return 'the key of the certificate is on an unknown curve';
  return type === 'ec' || type === 'ed25519' ? undefined : 'the key of the certificate is of an unknown type';
}
