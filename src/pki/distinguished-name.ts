/** Distinguished names: the subject and the issuer of a certificate. Kubernetes reads users and groups from them. */
import { DerError, DerReader, oidText } from './der-reader.ts';
import { oid, sequence, set, utf8String } from './der-writer.ts';

const commonNameOid = '2.5.4.3';
const organizationOid = '2.5.4.10';
/**
 * Attributes that a signer copies besides the common name: serial number, country, place, street, organization, unit,
 * postcode.
 */
const signedOids: ReadonlySet<string> = new Set([5, 6, 7, 8, 9, 10, 11, 17].map((n) => `2.5.4.${n}`));
/** The attribute with the uid of a Kubernetes user. */
const uidOid = '1.3.6.1.4.1.57683.2';

/** A name has at most so many attributes. */
const attributesMax = 1_000;

export interface Subject {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
}

/** The user in a subject. */
export interface ReadSubject {
  /** The common name; the last one when there are several, as in Go; '' when it is missing. */
  readonly commonName: string;
  /** In their order. */
  readonly organizations: readonly string[];
  readonly uids: readonly string[];
}

/** Encodes a subject, organizations first, each in a set of its own, so that their order is kept. */
export function encodeSubject({ commonName, organizations = [] }: Subject): Buffer {
  const attribute = (type: string, value: string): Buffer => set(sequence(oid(type), utf8String(value)));
  return sequence(
    ...organizations.map((value) => attribute(organizationOid, value)),
    ...(commonName === undefined ? [] : [attribute(commonNameOid, commonName)]),
  );
}

/** @param name DER of a whole name; throws a DerError */
export function readSubject(name: Buffer): ReadSubject {
  let commonName = '';
  const organizations: string[] = [];
  const uids: string[] = [];
  const outer = new DerReader(name);
  const sets = outer.enter(0x30);
  outer.end();
  for (let count = 0; !sets.atEnd; ) {
    for (const members = sets.enter(0x31); !members.atEnd; ) {
      if (++count > attributesMax) throw new DerError(`a name has more than ${attributesMax} attributes`);
      const attribute = members.enter(0x30);
      const type = oidText(attribute.take(0x06).body);
      const { tag, body } = attribute.take();
      attribute.end();
      if (type === commonNameOid) commonName = stringOf(tag, body);
      else if (type === organizationOid) organizations.push(stringOf(tag, body));
      else if (type === uidOid) uids.push(stringOf(tag, body));
    }
  }
  return { commonName, organizations, uids };
}

/** Decodes the text types that names may use. */
function stringOf(tag: number, body: Buffer): string {
  if (tag === 0x0c || tag === 0x13 || tag === 0x16) return utf8(body);
  // T61String: one byte per character.
  if (tag === 0x14) return body.toString('latin1');
  if (tag === 0x1e && body.length % 2 === 0) return Buffer.from(body).swap16().toString('utf16le');
  throw new DerError(`a name holds a text of tag 0x${tag.toString(16)}`);
}

function utf8(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new DerError('a name holds a text that is not UTF-8');
  }
}

/**
 * The subject that a signer writes for a requested one: only known attributes, and one common name, the one that is
 * used. So all readers of the certificate see the same subject.
 */
export function signedSubject(name: Buffer): Buffer {
  const kept: Buffer[] = [];
  let commonName: Buffer | undefined;
  for (const sets = new DerReader(name).enter(0x30); !sets.atEnd; )
    for (const members = sets.enter(0x31); !members.atEnd; ) {
      const { whole, body } = members.take(0x30);
      const type = oidText(new DerReader(body).take(0x06).body);
      if (type === commonNameOid) commonName = set(whole);
      else if (signedOids.has(type)) kept.push(set(whole));
    }
  return sequence(...kept, ...(commonName ? [commonName] : []));
}
