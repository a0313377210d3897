/**
 * Proves the validation of certificate chains by public test vectors. The cases are those of NIST's PKITS (numbers such as
 * 4.6.5) and of x509-limbo (names), made anew with certificates of our own; those about revocation lists, policies that an
 * application asks for, and host names have nothing here that they could test. Where the public verdict is that a chain
 * holds and ours is a refusal, the case says so: it is stricter, in most cases as Go is.
 */
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { clientAuth, verifyChain } from './certificate-chain.ts';
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
  nameOf,
  nowMs,
  printable,
  utf8,
} from './path-vectors.fixture.ts';

const serverAuth = '1.3.6.1.5.5.7.3.1';
const anyUsage = '2.5.29.37.0';
const expired = 'the certificate has expired';
const early = 'the certificate is not valid yet';
const unknown = 'the certificate is signed by an unknown authority';
const notAuthority = 'the certificate is signed by one that is not an authority';
const tooMany = 'there are more authorities in the chain than one of them allows';
const weak = 'the signature of the certificate is too weak';
/** In whatever words. */
const refused = '';
const notKnown = 'which is not known here';

const root = authority('root');
/** A time with four digits for the year, and with two. */
const longTime = (text: string): Buffer => tagged(0x18, Buffer.from(text));
const shortTime = (text: string): Buffer => tagged(0x17, Buffer.from(text));

interface Chain {
  readonly leaf: Holder;
  readonly between?: readonly Holder[];
  readonly roots?: readonly Holder[];
  readonly atMs?: number;
}

const verdict = ({ leaf, between = [], roots = [root], atMs = nowMs }: Chain): string => {
  try {
    verifyChain({
      leaf: leaf.certificate,
      intermediates: between.map(({ certificate }) => certificate),
      authorities: roots.map(({ certificate }) => certificate),
      usage: clientAuth,
      nowMs: atMs,
    });
    return 'holds';
  } catch (error) {
    return (error as Error).message;
  }
};

/** One authority between, and a client that it has signed. */
const below = (between: Holder): Chain => ({ leaf: client(between), between: [between] });

/** Authorities in a row, each with its path length, and a client of the last one. */
function row(...lengths: readonly (number | undefined)[]): Chain {
  const between: Holder[] = [];
  for (const [at, length] of lengths.entries())
    between.push(
      authority(`authority ${at}`, between.at(-1) ?? root, {
        extensions: [constraints(true, length), keyUsage([5])],
      }),
    );
  return { leaf: client(between.at(-1)!), between };
}

type Case = readonly [name: string, chain: () => Chain, verdict: string];

function check(cases: readonly Case[]): void {
  it.each(cases)('%s', (_name, chain, expected) => {
    const found = verdict(chain());
    if (expected === 'holds') expect(found).toBe('holds');
    else if (expected === refused) expect(found).not.toBe('holds');
    else expect(found).toContain(expected);
  });
}

describe('PKITS 4.1, signatures', () =>
  check([
    ['4.1.1 valid', () => below(authority('a', root)), 'holds'],
    ['4.1.2 forged, of an authority', () => below(authority('a', root, { isForged: true })), unknown],
    [
      '4.1.3 forged, of the certificate',
      () => {
        const a = authority('a', root);
        return { leaf: client(a, { isForged: true }), between: [a] };
      },
      unknown,
    ],
  ]));

describe('PKITS 4.2, times', () =>
  check([
    ['4.2.1 an authority too early', () => below(authority('a', root, { from: time(nowMs + 1_000) })), early],
    ['4.2.2 the certificate too early', () => ({ leaf: client(root, { from: time(nowMs + 1_000) }) }), early],
    [
      '4.2.3 since before 2000, two digits',
      () => ({ leaf: client(root, { from: shortTime('500101120000Z') }) }),
      'holds',
    ],
    [
      '4.2.4 since a time of four digits',
      () => ({ leaf: client(root, { from: longTime('20020101120000Z') }) }),
      'holds',
    ],
    [
      '4.2.5 an authority expired',
      () => below(authority('a', root, { until: time(nowMs - 2_000) })),
      expired,
    ],
    [
      '4.2.6 the certificate expired',
      () => ({ leaf: client(root, { until: time(nowMs - 2_000) }) }),
      expired,
    ],
    [
      '4.2.7 expired before 2000, two digits',
      () => ({ leaf: client(root, { from: shortTime('970101120000Z'), until: shortTime('990101120000Z') }) }),
      expired,
    ],
    [
      '4.2.8 until a time of four digits',
      () => ({ leaf: client(root, { until: longTime('20500101120000Z') }) }),
      'holds',
    ],
  ]));

describe('PKITS 4.3, names', () =>
  check([
    [
      '4.3.1 signed by another name',
      () => ({ leaf: client(root, { issuer: commonName('other') }) }),
      unknown,
    ],
    [
      '4.3.2 the parts of a name in another order',
      () => {
        const a = authority(nameOf([10, 'o'], [11, 'u'], [3, 'a']), root);
        return { leaf: client(a, { issuer: nameOf([10, 'o'], [3, 'a'], [11, 'u']) }), between: [a] };
      },
      unknown,
    ],
    [
      '4.3.3 more blanks in a name',
      () => {
        const a = authority(commonName('good  authority', printable), root);
        return { leaf: client(a, { issuer: commonName('good authority', printable) }), between: [a] };
      },
      'holds',
    ],
    [
      '4.3.4 blanks around a name',
      () => {
        const a = authority(commonName(' good authority ', printable), root);
        return { leaf: client(a, { issuer: commonName('good authority', printable) }), between: [a] };
      },
      'holds',
    ],
    [
      '4.3.5 capitals',
      () => {
        const a = authority(commonName('Good Authority', printable), root);
        return { leaf: client(a, { issuer: commonName('GOOD authority', printable) }), between: [a] };
      },
      'holds',
    ],
    [
      '4.3.7 the attributes that everybody must know',
      () => {
        const name = nameOf(
          [6, 'US', printable],
          [10, 'o'],
          [11, 'u'],
          [46, 'q', printable],
          [8, 's'],
          [5, '1', printable],
        );
        const a = authority(name, root);
        return { leaf: client(a), between: [a] };
      },
      'holds',
    ],
    ['4.3.9 UTF-8', () => below(authority(commonName('Größe', utf8), root)), 'holds'],
    [
      '4.3.10 the same name in another kind of text',
      () => {
        const a = authority(commonName('good', printable), root);
        return { leaf: client(a, { issuer: commonName('good', utf8) }), between: [a] };
      },
      'holds',
    ],
    [
      '4.3.11 capitals and blanks in UTF-8',
      () => {
        const a = authority(commonName('  Good   authority', utf8), root);
        return { leaf: client(a, { issuer: commonName('good Authority', utf8) }), between: [a] };
      },
      'holds',
    ],
  ]));

/** An authority that has changed its key: its certificate for the old one, and that for the new one, signed with the old one. */
function renewed(pathLength?: number): { old: Holder; renewal: Holder } {
  const extensions = [constraints(true, pathLength), keyUsage([5])];
  const old = authority('a', root, { extensions });
  return { old, renewal: authority('a', old, { extensions: [constraints(true), keyUsage([5])] }) };
}

describe('PKITS 4.5, authorities that sign themselves anew', () =>
  check([
    [
      '4.5.1 the old key, signed with the new one',
      () => {
        const old = ecKeys();
        const a = authority('a', root);
        const formerly = authority('a', a, { keys: old });
        return { leaf: client(formerly), between: [a, formerly] };
      },
      'holds',
    ],
    [
      '4.5.3 the new key, signed with the old one',
      () => {
        const { old, renewal } = renewed();
        return { leaf: client(renewal), between: [old, renewal] };
      },
      'holds',
    ],
    [
      '4.5.8 a certificate for another key that may not sign certificates',
      () => {
        const a = authority('a', root);
        const lists = authority('a', a, { extensions: [keyUsage([6])] });
        return { leaf: client(lists), between: [a, lists] };
      },
      unknown,
    ],
  ]));

describe('PKITS 4.6, basic constraints', () =>
  check([
    ['4.6.1 missing', () => below(authority('a', root, { extensions: [keyUsage([5])] })), notAuthority],
    [
      '4.6.2 no authority, critical',
      () => below(authority('a', root, { extensions: [constraints(false)] })),
      notAuthority,
    ],
    [
      '4.6.3 no authority, not critical',
      () => below(authority('a', root, { extensions: [constraints(false, undefined, false)] })),
      notAuthority,
    ],
    [
      '4.6.4 an authority, not critical',
      () => below(authority('a', root, { extensions: [constraints(true, undefined, false), keyUsage([5])] })),
      'holds',
    ],
    ['4.6.5 one authority too many', () => row(0, undefined), tooMany],
    [
      '4.6.6 one authority too many, and the certificate is one, too',
      () => {
        const { between = [] } = row(0, undefined);
        return { leaf: authority('leaf', between.at(-1)), between };
      },
      tooMany,
    ],
    ['4.6.7 none below, as it says', () => row(0), 'holds'],
    [
      '4.6.8 none below but the certificate, which is an authority',
      () => {
        const { between = [] } = row(0);
        return { leaf: authority('leaf', between.at(-1)), between };
      },
      'holds',
    ],
    ['4.6.9 too many for the second', () => row(6, 0, 0), tooMany],
    ['4.6.11 too many for the third', () => row(6, 1, 1, 1), tooMany],
    ['4.6.13 as many as all allow', () => row(6, 4, 1, undefined), 'holds'],
    [
      '4.6.15 a renewal of its own below one that allows no authority: it does not count by the RFC, and does here, as in Go',
      () => {
        const { old, renewal } = renewed(0);
        return { leaf: client(renewal), between: [old, renewal] };
      },
      tooMany,
    ],
    [
      '4.6.16 a renewal and another authority below one that allows none',
      () => {
        const { old, renewal } = renewed(0);
        const other = authority('b', renewal);
        return { leaf: client(other), between: [old, renewal, other] };
      },
      tooMany,
    ],
  ]));

describe('PKITS 4.7, key usage', () =>
  check([
    [
      '4.7.1 may not sign certificates, critical',
      () => below(authority('a', root, { extensions: [constraints(true), keyUsage([0, 6])] })),
      unknown,
    ],
    [
      '4.7.2 may not sign certificates, not critical',
      () => below(authority('a', root, { extensions: [constraints(true), keyUsage([0, 6], false)] })),
      unknown,
    ],
    [
      '4.7.3 may, not critical',
      () => below(authority('a', root, { extensions: [constraints(true), keyUsage([5], false)] })),
      'holds',
    ],
  ]));

const policies = extension('2.5.29.32', false, sequence(sequence(oid('2.16.840.1.101.3.2.1.48.1'))));
const withExtension = (more: Buffer): Chain =>
  below(authority('a', root, { extensions: [constraints(true), keyUsage([5]), more] }));
const directoryNames = explicit(0, sequence(explicit(4, nameOf([10, 'o']))));

describe('PKITS 4.8 to 4.13, policies and constraints of names', () =>
  check([
    ['4.8.1 policies, of which none is asked for', () => withExtension(policies), 'holds'],
    [
      '4.9.1 policies that are demanded: valid, and refused here',
      () => withExtension(extension('2.5.29.36', true, sequence(tagged(0x80, Buffer.from([10]))))),
      notKnown,
    ],
    [
      '4.11.2 mappings that are forbidden: valid, and refused here',
      () => withExtension(extension('2.5.29.36', true, sequence(tagged(0x81, Buffer.from([1]))))),
      notKnown,
    ],
    [
      '4.12.2 any policy forbidden: valid, and refused here',
      () => withExtension(extension('2.5.29.54', true, unsigned(Buffer.from([0])))),
      notKnown,
    ],
    [
      '4.13.1 names that are permitted: valid, and refused here',
      () => withExtension(extension('2.5.29.30', true, sequence(directoryNames))),
      notKnown,
    ],
    [
      '4.13.2 names that are not permitted',
      () => withExtension(extension('2.5.29.30', true, sequence(directoryNames))),
      notKnown,
    ],
    [
      'limits on names that are not critical, though they must be',
      () => withExtension(extension('2.5.29.30', false, sequence(directoryNames))),
      'by an authority for some names only',
    ],
  ]));

describe('PKITS 4.16, extensions that nobody knows', () => {
  const own = (critical: boolean): Buffer => extension('2.16.840.1.101.2.1.12.2', critical, sequence());
  check([
    ['4.16.1 not critical', () => ({ leaf: client(root, { extensions: [own(false)] }) }), 'holds'],
    ['4.16.2 critical', () => ({ leaf: client(root, { extensions: [own(true)] }) }), notKnown],
    ['unknown-critical-extension-intermediate', () => withExtension(own(true)), notKnown],
    [
      'unknown-critical-extension-root',
      () => {
        const odd = authority('odd', undefined, { extensions: [constraints(true), own(true)] });
        return { leaf: client(odd), roots: [odd] };
      },
      notKnown,
    ],
  ]);
});

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
