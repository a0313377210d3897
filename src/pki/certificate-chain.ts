/**
 * Certificate chains: whether a trusted authority has signed a certificate, directly or through others. OpenSSL answers
 * that for a handshake as a whole; here it is answered for one set of authorities at a time, and again when they change
 * while the connection stays.
 */
import type { X509Certificate } from 'node:crypto';
import { Memo } from '../memo.ts';
import { type CertificateDetails, certificateDetails, pathLengthMax } from './certificate-details.ts';
import { costlyKeyOf } from './costly-key.ts';
import { DerReader, oidText } from './der-reader.ts';

/** Maximum number of authorities between the certificate and a trusted one. */
const depthMax = 6;
/** Maximum number of further certificates that a client may send. */
const intermediatesMax = 16;
/** Maximum number of signature checks for one certificate. */
const signaturesMax = 64;

/** Extended key usages. */
export const clientAuth = '1.3.6.1.5.5.7.3.2';
export const serverAuth = '1.3.6.1.5.5.7.3.1';
const anyUsage = '2.5.29.37.0';
/**
 * Limits the names that an authority may sign. Names are not checked here, so an authority with this extension is
 * refused.
 */
const nameConstraints = '2.5.29.30';

/** Extensions that this file or OpenSSL checks, or that do not restrict the use of the certificate. */
const knownExtensions: ReadonlySet<string> = new Set([
  '2.5.29.15', // key usage: OpenSSL asks for that of an issuer
  '2.5.29.17', // alternative names: names are not checked
  '2.5.29.19', // basic constraints
  '2.5.29.35', // authority key identifier
  '2.5.29.37', // extended key usage
]);

/** Accepted signature algorithms, the same as in Go: RSA and ECDSA with SHA-256, 384 and 512, and Ed25519. */
const strongSignatures: ReadonlySet<string> = new Set([
  ...[11, 12, 13].map((n) => `1.2.840.113549.1.1.${n}`),
  ...[2, 3, 4].map((n) => `1.2.840.10045.4.3.${n}`),
  '1.3.101.112',
]);
/** RSA-PSS, which names its hash in its parameters. */
const pssSignature = '1.2.840.113549.1.1.10';
const strongHashes: ReadonlySet<string> = new Set([1, 2, 3].map((n) => `2.16.840.1.101.3.4.2.${n}`));
/** Minimum size of an RSA key in bits, the same as in Go. */
const rsaBitsMin = 1_024;

/** The time during which a chain is valid, in milliseconds since 1970. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

const details = new Memo<X509Certificate, CertificateDetails>(certificateDetails);

export interface ChainQuestion {
  readonly leaf: X509Certificate;
  readonly intermediates: readonly X509Certificate[];
  readonly authorities: readonly X509Certificate[];
  /** The usage that the certificate must allow. */
  readonly usage: string;
  readonly nowMs: number;
}

/** Verifies a chain; returns how long it is valid. Throws an error with a sentence when it is not. */
export function verifyChain(question: ChainQuestion): Validity {
  const search = { ...question, intermediates: question.intermediates.slice(0, intermediatesMax) };
  let signatures = 0;
  let why = 'the certificate is signed by an unknown authority';

  const follow = (certificate: X509Certificate, below: readonly X509Certificate[]): Validity | undefined => {
    const problem = certificateProblem(certificate, question, below.length);
    if (problem) {
      why = problem;
      return undefined;
    }
    const validity = validityOf(certificate);
    if (question.authorities.some(({ fingerprint256 }) => fingerprint256 === certificate.fingerprint256))
      return validity;
    if (below.length > depthMax) return undefined;
    const seen = [...below, certificate];
    for (const issuer of [...search.authorities, ...search.intermediates]) {
      if (seen.includes(issuer) || !certificate.checkIssued(issuer)) continue;
      // Before its signature is checked: that is what takes long.
      const costly = costlyKeyOf(issuer);
      if (costly) {
        why = costly;
        continue;
      }
      if (++signatures > signaturesMax) throw new Error('the certificate has too many possible issuers');
      if (!certificate.verify(issuer.publicKey)) continue;
      const above = follow(issuer, seen);
      if (above) return narrower(validity, above);
    }
    return undefined;
  };

  const found = follow(question.leaf, []);
  if (!found) throw new Error(why);
  return found;
}

const narrower = (a: Validity, b: Validity): Validity => ({
  fromMs: Math.max(a.fromMs, b.fromMs),
  untilMs: Math.min(a.untilMs, b.untilMs),
});

const validityOf = ({ validFrom, validTo }: X509Certificate): Validity => ({
  fromMs: Date.parse(validFrom),
  untilMs: Date.parse(validTo) + 999,
});

/** What is wrong with one certificate of a chain, apart from its signature. */
function certificateProblem(
  certificate: X509Certificate,
  { usage, nowMs, authorities }: ChainQuestion,
  certificatesBelow: number,
): string | undefined {
  const { fromMs, untilMs } = validityOf(certificate);
  // A time that cannot be parsed fails both comparisons.
  if (!(nowMs >= fromMs)) return 'the certificate is not valid yet';
  if (!(nowMs <= untilMs)) return 'the certificate has expired';
  // `keyUsage` is Node's name for the extended key usage; a certificate without one may be used for everything.
  const usages = certificate.keyUsage as readonly string[] | undefined;
  if (usages?.length && !usages.includes(usage) && !usages.includes(anyUsage))
    return 'the certificate is not meant for this use';
  const detail = details.of(certificate);
  const unknown = detail.extensions.find(({ oid, critical }) => critical && !knownExtensions.has(oid));
  if (unknown) return `the certificate has the critical extension ${unknown.oid}, which is not known here`;
  if (!hasStrongSignature(detail) && !authorities.includes(certificate))
    return 'the signature of the certificate is too weak';
  const costly = costlyKeyOf(certificate);
  if (costly) return costly;
  const { asymmetricKeyDetails } = certificate.publicKey;
  if ((asymmetricKeyDetails?.modulusLength ?? rsaBitsMin) < rsaBitsMin)
    return 'the key of the certificate is too weak';
  if (certificatesBelow === 0) return undefined;
  if (detail.extensions.some(({ oid }) => oid === nameConstraints))
    return 'the certificate is signed by an authority for some names only, which are not checked here';
  if (!certificate.ca) return 'the certificate is signed by one that is not an authority';
  // The certificate itself does not count, only authorities below this one.
  const lengthMax = pathLengthMax(detail);
  if (lengthMax !== undefined && certificatesBelow - 1 > lengthMax)
    return 'there are more authorities in the chain than one of them allows';
  return undefined;
}

function hasStrongSignature({ signatureAlgorithm, signatureParameters }: CertificateDetails): boolean {
  if (signatureAlgorithm !== pssSignature) return strongSignatures.has(signatureAlgorithm);
  const parameters = new DerReader(signatureParameters).enter(0x30);
  // Without parameters the hash is SHA-1.
  if (parameters.nextTag !== 0xa0) return false;
  return strongHashes.has(oidText(parameters.enter(0xa0).enter(0x30).take(0x06).body));
}
