/**
 * Certificates for cases of path validation: anything can be put into them, also what must not be there. All are made anew,
 * with keys of their own.
 */
import { constants, generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { digest, keyId, signatureAlgorithm } from './certificate.ts';
import {
  bitString,
  boolean,
  explicit,
  implicit,
  octetString,
  oid,
  sequence,
  set,
  tagged,
  time,
  unsigned,
} from './der-writer.ts';

export const dayMs = 86_400_000;
/** When all chains are judged. */
export const nowMs = Date.UTC(2026, 0, 1);

export const utf8 = 0x0c;
export const printable = 0x13;

/** A name of attributes, each an object identifier's last number below 2.5.4 and its text. */
export const nameOf = (...attributes: readonly (readonly [number, string, number?])[]): Buffer =>
  sequence(
    ...attributes.map(([type, text, tag = utf8]) =>
      set(sequence(oid(`2.5.4.${type}`), tagged(tag, Buffer.from(text)))),
    ),
  );

export const commonName = (text: string, tag?: number): Buffer => nameOf([3, text, tag]);

export const extension = (type: string, critical: boolean, value: Buffer): Buffer =>
  sequence(oid(type), ...(critical ? [boolean(true)] : []), octetString(value));

/** Basic constraints. */
export const constraints = (isAuthority: boolean, pathLength?: number, critical = true): Buffer =>
  extension(
    '2.5.29.19',
    critical,
    sequence(
      ...(isAuthority ? [boolean(true)] : []),
      ...(pathLength === undefined ? [] : [unsigned(Buffer.from([pathLength]))]),
    ),
  );

/** Key usage by its bits: 0 digital signature, 5 signs certificates, 6 signs revocation lists. */
export function keyUsage(bits: readonly number[], critical = true): Buffer {
  const byte = bits.reduce((sum, bit) => sum | (0x80 >> bit), 0);
  return extension('2.5.29.15', critical, bitString(Buffer.from([byte]), 7 - Math.max(...bits)));
}

export const extendedUsage = (...usages: readonly string[]): Buffer =>
  extension('2.5.29.37', false, sequence(...usages.map(oid)));

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export const ecKeys = (): Keys => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** What is put into a certificate, where it is not what most have. */
interface Contents {
  readonly keys?: Keys;
  /** The name of who signs, as the certificate says it. */
  readonly issuer?: Buffer;
  readonly from?: Buffer;
  readonly until?: Buffer;
  readonly extensions?: readonly Buffer[];
  /** Says that it identifies this key of the signer. */
  readonly issuerKeyId?: Buffer;
  /** 2 stands for version 3. */
  readonly version?: number;
  /** DER of the algorithm inside and outside of what is signed, and the name of its hash. */
  readonly algorithm?: Buffer;
  readonly outerAlgorithm?: Buffer;
  readonly hash?: string;
  /** Bytes of the salt of PSS, in whose way an RSA key is to sign. */
  readonly pssSaltBytes?: number;
  readonly isForged?: boolean;
}

export class Holder {
  readonly keys: Keys;
  readonly certificate: X509Certificate;

  /** @param signer undefined: itself */
  constructor(
    readonly name: Buffer,
    signer: Holder | undefined,
    contents: Contents = {},
  ) {
    this.keys = contents.keys ?? ecKeys();
    this.certificate = new X509Certificate(this.#encode(signer ?? this, contents));
  }

  get keyId(): Buffer {
    return keyId(this.keys.publicKey.export({ type: 'spki', format: 'der' }));
  }

  #encode(signer: Holder, contents: Contents): Buffer {
    const { privateKey } = signer.keys;
    const algorithm = contents.algorithm ?? signatureAlgorithm(privateKey);
    const identifier =
      contents.issuerKeyId && extension('2.5.29.35', false, sequence(implicit(0, contents.issuerKeyId)));
    const extensions = [...(contents.extensions ?? []), ...(identifier ? [identifier] : [])];
    const { version = 2 } = contents;
    const body = sequence(
      ...(version === 0 ? [] : [explicit(0, tagged(0x02, Buffer.from([version])))]),
      unsigned(Buffer.from([0x40, ...this.keyId.subarray(0, 8)])),
      algorithm,
      contents.issuer ?? signer.name,
      sequence(contents.from ?? time(nowMs - dayMs), contents.until ?? time(nowMs + dayMs)),
      this.name,
      this.keys.publicKey.export({ type: 'spki', format: 'der' }),
      ...(extensions.length ? [explicit(3, sequence(...extensions))] : []),
    );
    const signature = sign(contents.hash ?? digest(privateKey), body, {
      key: privateKey,
      ...(contents.pssSaltBytes === undefined
        ? {}
        : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: contents.pssSaltBytes }),
    });
    if (contents.isForged) signature[signature.length - 1]! ^= 1;
    return sequence(body, contents.outerAlgorithm ?? algorithm, bitString(signature));
  }
}

/** An authority, with the usual extensions unless others are given. */
export const authority = (
  name: string | Buffer,
  signer?: Holder,
  { extensions = [constraints(true), keyUsage([5, 6])], ...contents }: Contents = {},
): Holder =>
  new Holder(typeof name === 'string' ? commonName(name) : name, signer, { ...contents, extensions });

/** The certificate that is judged. */
export const client = (signer: Holder, contents: Contents = {}, name = 'client'): Holder =>
  new Holder(commonName(name), signer, contents);
