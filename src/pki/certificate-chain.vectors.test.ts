/**
 * Proves the validation of certificate chains by NIST's public test vectors. The cases are those of PKITS, by their numbers,
 * made anew with certificates of our own; those about revocation lists and about policies that an application asks for have
 * nothing here that they could test. Where the public verdict is that a chain holds and ours is a refusal, the case says so.
 */
import { describe } from 'vitest';
import {
  below,
  check,
  early,
  expired,
  notAuthority,
  notKnown,
  root,
  row,
  tooMany,
  unknown,
  withExtension,
} from './chain-verdicts.fixture.ts';
import { explicit, oid, sequence, tagged, time, unsigned } from './der-writer.ts';
import {
  authority,
  client,
  commonName,
  constraints,
  ecKeys,
  extension,
  type Holder,
  keyUsage,
  nameOf,
  nowMs,
  printable,
  utf8,
} from './path-vectors.fixture.ts';

/** A time with four digits for the year, and with two. */
const longTime = (text: string): Buffer => tagged(0x18, Buffer.from(text));
const shortTime = (text: string): Buffer => tagged(0x17, Buffer.from(text));

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
