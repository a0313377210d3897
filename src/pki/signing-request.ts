/**
 * Signing requests (PKCS #10): a public key and the content of the wanted certificate, signed with the private key.
 * They come from clients, so everything is bounded and the signature is verified.
 */
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import {
  type AlternativeNames,
  encodeNames,
  isEmpty,
  namesOf,
  noNames,
  readNames,
} from './alternative-names.ts';
import { digest, signatureAlgorithm } from './certificate.ts';
import { costlyKey } from './costly-key.ts';
import { DerReader, oidText } from './der-reader.ts';
import { bitString, explicit, octetString, oid, sequence, set, tagged } from './der-writer.ts';
import {
  encodeSubject,
  type ReadSubject,
  readSubject,
  type Subject,
  signedSubject,
} from './distinguished-name.ts';
import { type KeyPair, publicDer } from './key-pair.ts';
import { pem, pemBlocks } from './pem.ts';

/** Maximum size of a signing request as DER; real ones have about 500 bytes. */
const requestBytesMax = 64 * 1024;
const attributesMax = 100;
/** Larger RSA keys cost the server too much to verify with. */
const rsaBitsMax = 8_192;
const rsaBitsMin = 1_024;

const extensionRequestOid = '1.2.840.113549.1.9.14';
const alternativeNamesOid = '2.5.29.17';

/** A request cannot be read or its signature is wrong; the message says why. */
export class SigningRequestError extends Error {}

export interface SigningRequest {
  /** DER of the name, as a certificate is to have it. */
  readonly subject: Buffer;
  readonly read: ReadSubject;
  /** DER SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  readonly names: AlternativeNames;
}

/**
 * Parses the request in a PEM text, and verifies its signature.
 * @public for signers
 */
export function readSigningRequest(text: string): SigningRequest {
  if (text.length > 2 * requestBytesMax) throw new SigningRequestError('the request is too large');
  const [block] = pemBlocks(text);
  if (block?.label !== 'CERTIFICATE REQUEST')
    throw new SigningRequestError('PEM block type must be CERTIFICATE REQUEST');
  try {
    return readRequest(block.bytes);
  } catch (error) {
    if (error instanceof SigningRequestError) throw error;
    throw new SigningRequestError((error as Error).message, { cause: error });
  }
}

function readRequest(bytes: Buffer): SigningRequest {
  if (bytes.length > requestBytesMax) throw new SigningRequestError('the request is too large');
  const outer = new DerReader(bytes);
  const request = outer.enter(0x30);
  outer.end();
  const info = request.take(0x30);
  const algorithm = oidText(request.enter(0x30).take(0x06).body);
  const signature = request.take(0x03).body;
  request.end();
  const fields = new DerReader(info.body);
  fields.take(0x02);
  const subject = fields.take(0x30).whole;
  const publicKey = fields.take(0x30).whole;
  const attributes = fields.optional(0xa0);
  fields.end();
  check(info.whole, algorithm, signature, publicKey);
  return {
    read: readSubject(subject),
    subject: signedSubject(subject),
    publicKey,
    names: attributes ? requestedNames(attributes.body) : noNames,
  };
}

/** Accepted signature algorithms, by the type of the key. */
const digests: Readonly<Record<string, readonly [type: string, digest: string | null]>> = {
  '1.2.840.10045.4.3.2': ['ec', 'sha256'],
  '1.2.840.10045.4.3.3': ['ec', 'sha384'],
  '1.2.840.10045.4.3.4': ['ec', 'sha512'],
  '1.2.840.113549.1.1.11': ['rsa', 'sha256'],
  '1.2.840.113549.1.1.12': ['rsa', 'sha384'],
  '1.2.840.113549.1.1.13': ['rsa', 'sha512'],
  '1.3.101.112': ['ed25519', null],
};

/** Error messages of Go, which Kubernetes clients know. */
const wrongSignature: Readonly<Record<string, string>> = {
  ec: 'x509: ECDSA verification failure',
  rsa: 'crypto/rsa: verification error',
  ed25519: 'x509: Ed25519 verification failure',
};

function check(info: Buffer, algorithm: string, signature: Buffer, publicKey: Buffer): void {
  const [type, hash] = digests[algorithm] ?? [];
  const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' });
  if (type === undefined || hash === undefined || key.asymmetricKeyType !== type)
    throw new SigningRequestError('x509: cannot verify signature: algorithm unimplemented');
  const { modulusLength } = key.asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined && (modulusLength < rsaBitsMin || modulusLength > rsaBitsMax))
    throw new SigningRequestError(`an RSA key must have ${rsaBitsMin} to ${rsaBitsMax} bits`);
  const costly = costlyKey(key);
  if (costly) throw new SigningRequestError(costly);
  if (signature[0] !== 0 || !verify(hash, info, key, signature.subarray(1)))
    throw new SigningRequestError(wrongSignature[type] ?? 'x509: verification failure');
}

/** The alternative names among the requested extensions; signers decide about others. */
function requestedNames(attributes: Buffer): AlternativeNames {
  const list = new DerReader(attributes);
  for (let count = 0; !list.atEnd; count++) {
    if (count >= attributesMax) throw new SigningRequestError('there are too many attributes');
    const attribute = list.enter(0x30);
    if (oidText(attribute.take(0x06).body) !== extensionRequestOid) continue;
    const extensions = attribute.enter(0x31).enter(0x30);
    for (let at = 0; !extensions.atEnd; at++) {
      if (at >= attributesMax) throw new SigningRequestError('there are too many extensions');
      const extension = extensions.enter(0x30);
      const type = oidText(extension.take(0x06).body);
      extension.optional(0x01);
      const value = extension.take(0x04).body;
      if (type === alternativeNamesOid) return readNames(value);
    }
  }
  return noNames;
}

/** Makes a request, in PEM, for a certificate of this key. */
export function makeSigningRequest(key: KeyPair, subject: Subject, hosts: readonly string[] = []): string {
  const names = namesOf(hosts);
  const extensions = sequence(sequence(oid(alternativeNamesOid), octetString(encodeNames(names))));
  const info = sequence(
    tagged(0x02, Buffer.from([0])),
    encodeSubject(subject),
    publicDer(key.publicKey),
    explicit(0, ...(isEmpty(names) ? [] : [sequence(oid(extensionRequestOid), set(extensions))])),
  );
  const { privateKey } = key;
  return pem(
    'CERTIFICATE REQUEST',
    sequence(info, signatureAlgorithm(privateKey), bitString(signatureOf(info, privateKey))),
  );
}

const signatureOf = (bytes: Buffer, key: KeyObject): Buffer => sign(digest(key), bytes, key);
