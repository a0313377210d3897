/**
 * Parts of a certificate that Node does not provide, or only as ambiguous text: the attributes of its subject, its
 * extensions, and its signature algorithm.
 */
import type { X509Certificate } from 'node:crypto';
import { DerError, DerReader, oidText } from './der-reader.ts';
import { type ReadSubject, readSubject } from './distinguished-name.ts';

/** A certificate has at most so many extensions. */
const extensionsMax = 100;
/** Maximum length of the number in a path length constraint. */
const pathLengthBytesMax = 4;

interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  readonly value: Buffer;
}

export interface CertificateDetails {
  readonly subject: ReadSubject;
  /** Object identifier. */
  readonly signatureAlgorithm: string;
  /** DER of the algorithm's parameters; empty: it has none. */
  readonly signatureParameters: Buffer;
  readonly extensions: readonly Extension[];
}

/** Throws a DerError when the certificate is not well formed. */
export function certificateDetails({ raw }: X509Certificate): CertificateDetails {
  const certificate = new DerReader(raw).enter(0x30);
  const signed = certificate.enter(0x30);
  const algorithm = certificate.enter(0x30);
  const signatureAlgorithm = oidText(algorithm.take(0x06).body);
  const signatureParameters = algorithm.atEnd ? Buffer.alloc(0) : algorithm.take().whole;
  // Version, serial number, signature, issuer, validity.
  signed.optional(0xa0);
  for (const tag of [0x02, 0x30, 0x30, 0x30]) signed.take(tag);
  const subject = readSubject(signed.take(0x30).whole);
  // The public key, and optional fields of old versions.
  signed.take(0x30);
  signed.optional(0x81);
  signed.optional(0x82);
  return { subject, signatureAlgorithm, signatureParameters, extensions: extensionsOf(signed) };
}

function extensionsOf(signed: DerReader): Extension[] {
  if (signed.nextTag !== 0xa3) return [];
  const extensions: Extension[] = [];
  for (const list = signed.enter(0xa3).enter(0x30); !list.atEnd; ) {
    if (extensions.length === extensionsMax) throw new Error(`more than ${extensionsMax} extensions`);
    const extension = list.enter(0x30);
    const oid = oidText(extension.take(0x06).body);
    if (extensions.some((other) => other.oid === oid)) throw new DerError(`two extensions ${oid}`);
    const critical = (extension.optional(0x01)?.body[0] ?? 0) !== 0;
    extensions.push({ oid, critical, value: extension.take(0x04).body });
  }
  return extensions;
}

/**
 * The path length constraint: how many authorities may stand between this one and the certificate; undefined: any
 * number.
 */
export function pathLengthMax({ extensions }: CertificateDetails): number | undefined {
  const constraints = extensions.find(({ oid }) => oid === '2.5.29.19');
  if (!constraints) return undefined;
  const parts = new DerReader(constraints.value).enter(0x30);
  parts.optional(0x01);
  const length = parts.optional(0x02)?.body;
  if (length && (length.length === 0 || length.length > pathLengthBytesMax || length[0]! & 0x80))
    throw new DerError('the length of paths is not a number');
  return length?.readUIntBE(0, length.length);
}
