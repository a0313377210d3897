/**
 * Proves the validation of certificate chains by cases of x509-limbo, by their names, made anew with certificates of our own,
 * and by others about algorithms and keys. Those about host names and revocation have nothing here that they could test.
 */
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  below,
  type Chain,
  check,
  expired,
  notAuthority,
  refused,
  root,
  row,
  tooMany,
  unknown,
  verdict,
  weak,
  withExtension,
} from './chain-verdicts.fixture.ts';
import { boolean, explicit, oid, sequence, tagged, time, unsigned } from './der-writer.ts';
import {
  authority,
  client,
  commonName,
  constraints,
  dayMs,
  ecKeys,
  extendedUsage,
  extension,
  Holder,
  keyUsage,
  nowMs,
} from './path-vectors.fixture.ts';

const serverAuth = '1.3.6.1.5.5.7.3.1';
const anyUsage = '2.5.29.37.0';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const rsaRoot = authority('rsa', undefined, { keys: rsa });
const rsaWith = (number: number): Buffer => sequence(oid(`1.2.840.113549.1.1.${number}`), tagged(0x05));
const signedWith = (number: number, hash: string): Chain => ({
  leaf: client(rsaRoot, { algorithm: rsaWith(number), hash }),
  roots: [rsaRoot],
});

/** RSA with PSS, which names its hash; without one it is SHA-1. */
const pssWith = (hash: string, hashOid: string | undefined, saltBytes: number): Chain => {
  const name = hashOid === undefined ? undefined : sequence(oid(hashOid));
  const parameters = name
    ? [
        explicit(0, name),
        explicit(1, sequence(oid('1.2.840.113549.1.1.8'), name)),
        explicit(2, unsigned(Buffer.from([saltBytes]))),
      ]
    : [];
  const algorithm = sequence(oid('1.2.840.113549.1.1.10'), sequence(...parameters));
  return { leaf: client(rsaRoot, { algorithm, hash, pssSaltBytes: saltBytes }), roots: [rsaRoot] };
};

describe('x509-limbo', () => {
  const loop = (): Chain => {
    // Two authorities that have signed each other, and nobody else has signed them.
    const [one, two] = [ecKeys(), ecKeys()];
    const a = authority('a', undefined, { keys: one });
    const b = authority('b', a, { keys: two });
    const again = authority('a', b, { keys: one });
    return { leaf: client(again), between: [b, again] };
  };
  check([
    ['chain-untrusted-root', () => ({ ...below(authority('a', root)), roots: [authority('root')] }), unknown],
    [
      'validity::expired-root',
      () => ({ leaf: client(root, { until: time(nowMs + 9 * dayMs) }), atMs: nowMs + 2 * dayMs }),
      expired,
    ],
    ['validity::notbefore-exact', () => ({ leaf: client(root, { from: time(nowMs) }) }), 'holds'],
    ['validity::notafter-exact', () => ({ leaf: client(root, { until: time(nowMs) }) }), 'holds'],
    ['validity::expired-1-second', () => ({ leaf: client(root, { until: time(nowMs - 1_000) }) }), expired],
    ['eku::ee-without-eku', () => ({ leaf: client(root, { extensions: [constraints(false)] }) }), 'holds'],
    ['eku::ee-anyeku', () => ({ leaf: client(root, { extensions: [extendedUsage(anyUsage)] }) }), 'holds'],
    [
      'eku::ee-wrong-eku',
      () => ({ leaf: client(root, { extensions: [extendedUsage(serverAuth)] }) }),
      'not meant for this use',
    ],
    [
      'an authority for another use',
      () => withExtension(extendedUsage(serverAuth)),
      'not meant for this use',
    ],
    ['pathlen::ee-with-intermediate-pathlen-0', () => row(0), 'holds'],
    ['pathlen::intermediate-violates-pathlen-0', () => row(0, 0), tooMany],
    ['pathlen::intermediate-pathlen-may-increase', () => row(1, 2), 'holds'],
    ['pathlen::intermediate-pathlen-too-long', () => row(0, 1), tooMany],
    [
      'pathlen::validation-ignores-pathlen-in-leaf',
      () => ({ leaf: client(root, { extensions: [constraints(true, 0)] }) }),
      'holds',
    ],
    [
      'a path length below 0',
      () => {
        const negative = sequence(boolean(true), tagged(0x02, Buffer.from([0xff])));
        return below(
          authority('a', root, { extensions: [extension('2.5.29.19', true, negative), keyUsage([5])] }),
        );
      },
      refused,
    ],
    [
      'intermediate-ca-without-ca-bit',
      () => below(authority('a', root, { extensions: [constraints(false), keyUsage([5])] })),
      notAuthority,
    ],
    [
      'rfc5280::duplicate-extensions',
      () => ({ leaf: client(root, { extensions: [constraints(false), constraints(false)] }) }),
      'two extensions 2.5.29.19',
    ],
    [
      'mismatching-signature-algorithm',
      () => ({ leaf: client(root, { outerAlgorithm: sequence(oid('1.2.840.10045.4.3.3')) }) }),
      unknown,
    ],
    [
      'a version 1 authority',
      () => {
        const first = new Holder(commonName('first'), undefined, { version: 0 });
        return { leaf: client(first), roots: [first] };
      },
      notAuthority,
    ],
    ['cve::cve-2024-0567, authorities that have signed each other', loop, unknown],
    [
      'pathological::multiple-chains-expired-intermediate',
      () => {
        const keys = ecKeys();
        const expiredOne = authority('a', root, { keys, until: time(nowMs - dayMs / 2) });
        const good = authority('a', root, { keys });
        return { leaf: client(good), between: [expiredOne, good] };
      },
      'holds',
    ],
    [
      'aki: the key identifier of another key',
      () => ({
        leaf: client(root, { issuerKeyId: Buffer.alloc(20, 1) }),
        roots: [
          authority('root', undefined, {
            keys: root.keys,
            extensions: [constraints(true), extension('2.5.29.14', false, tagged(0x04, root.keyId))],
          }),
        ],
      }),
      unknown,
    ],
    ['more authorities than are followed', () => row(...Array<undefined>(9).fill(undefined)), unknown],
    ['the algorithm SHA-256', () => signedWith(11, 'sha256'), 'holds'],
    ['the algorithm SHA-512', () => signedWith(13, 'sha512'), 'holds'],
    ['webpki: the algorithm SHA-1', () => signedWith(5, 'sha1'), weak],
    ['the algorithm SHA-224, which Go does not take', () => signedWith(14, 'sha224'), weak],
    ['the algorithm PSS with SHA-256', () => pssWith('sha256', '2.16.840.1.101.3.4.2.1', 32), 'holds'],
    ['the algorithm PSS with SHA-1, which it does not name', () => pssWith('sha1', undefined, 20), weak],
    ['the algorithm MD5', () => signedWith(4, 'md5'), weak],
    [
      'forbidden-weak-rsa-in-leaf',
      () => ({ leaf: client(root, { keys: generateKeyPairSync('rsa', { modulusLength: 512 }) }) }),
      'the key of the certificate is too weak',
    ],
  ]);

  it('a root that is trusted may be signed by whatever it likes', () => {
    const old = authority('old', undefined, { keys: rsa, algorithm: rsaWith(5), hash: 'sha1' });
    expect(verdict({ leaf: client(old), roots: [old] })).toBe('holds');
  });

  it('nc-dos: many authorities of one name and key cost a bounded number of signatures', () => {
    const keys = ecKeys();
    const many = Array.from({ length: 16 }, () => authority('a', undefined, { keys }));
    expect(verdict({ leaf: client(many[0]!), between: many })).toMatch(
      /too many possible issuers|unknown authority/,
    );
  });
});
