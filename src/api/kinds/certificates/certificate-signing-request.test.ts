/** Proves the rules of signing requests: what may be asked for, how conditions change, and what tables show. */
import { describe, expect, it } from 'vitest';
import { splitUsages } from '../../../pki/usages.ts';
import type { CertificateSigningRequest } from '../../generated/types.ts';
import type { ApiObject } from '../../text/object.ts';
import { createdText, createErrors, nowMs, nowText, read, shownCells, written } from '../kind.fixture.ts';
import { certificateSigningRequest as kind, usageNames } from './certificate-signing-request.ts';

const spec = { request: 'eA==', signerName: 'example.com/ca', usages: ['client auth'] };
const texts = (errors: readonly { field: string; message: string }[] = []): string[] =>
  errors.map(({ field, message }) => `${field}: ${message}`);
const refused = (change: object): string[] => texts(createErrors(kind, { spec: { ...spec, ...change } }));

describe('what is asked for', () => {
  it('is accepted', () => {
    expect(refused({ expirationSeconds: 600 })).toEqual([]);
  });

  it('needs a signer and usages', () => {
    expect(texts(createErrors(kind, { spec: { request: 'eA==' } }))).toEqual([
      'spec.usages: Required value',
      'spec.signerName: Required value',
    ]);
  });

  it.each([
    [
      'plain',
      'Invalid value: "plain": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
    ],
    [
      'a.b/c/d',
      'Invalid value: "a.b/c/d": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
    ],
    [
      'kubernetes.io/legacy-unknown',
      'Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
    ['local/x', 'Invalid value: "local": should be a domain with at least two segments separated by dots'],
  ])('refuses the signer %s', (signerName, text) => {
    expect(refused({ signerName })).toEqual([`spec.signerName: ${text}`]);
  });

  it('names the label of a signer that is wrong', () => {
    expect(refused({ signerName: 'Example.org/x' })[0]).toMatch(
      /^spec\.signerName: Invalid value: "Example\.org": validating label "Example": a lowercase RFC 1123 label/,
    );
    expect(refused({ signerName: 'example.org/X' })[0]).toMatch(
      /^spec\.signerName: Invalid value: "X": validating label "X": a lowercase RFC 1123 subdomain/,
    );
  });

  it('refuses unknown and repeated usages, and lives that are too short', () => {
    expect(refused({ usages: ['client auth', 'client auth', 'cooking'], expirationSeconds: 599 })).toEqual([
      `spec.usages[2]: Unsupported value: "cooking": supported values: ${usageNames.map((name) => `"${name}"`).join(', ')}`,
      'spec.usages[1]: Duplicate value: "client auth"',
      'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)',
    ]);
  });

  it('has usages that certificates can have', () => {
    expect(() => splitUsages(usageNames)).not.toThrow();
    expect(usageNames).toHaveLength(23);
  });
});

it('keeps who created it, whatever is sent', () => {
  const request = read(kind, {
    spec: { ...spec, username: 'forged', groups: ['forged'], extra: { a: ['b'] } },
  });
  kind.setCreator!(request, { name: 'alice', uid: 'u', groups: ['dev'], extra: {} });
  expect((request as CertificateSigningRequest).spec).toMatchObject({
    username: 'alice',
    uid: 'u',
    groups: ['dev'],
  });
  expect((request as CertificateSigningRequest).spec?.extra).toBeUndefined();
});

const approved = { type: 'Approved', status: 'True', reason: 'R', message: 'm' };
const denied = { ...approved, type: 'Denied' };
const failed = { ...approved, type: 'Failed' };
const timed = (condition: object): object => ({
  ...condition,
  lastUpdateTime: createdText,
  lastTransitionTime: createdText,
});
const withStatus = (status: object): ApiObject => ({ ...written(kind, { spec }), status }) as ApiObject;

function approval(status: object, before: object = {}): ApiObject | string[] {
  const old = withStatus(before);
  const object = withStatus(structuredClone(status));
  kind.changes.approval!.prepare!(object, old, { now: nowText });
  const errors = texts(kind.changes.approval!.validate!(object, old));
  return errors.length ? errors : object;
}

function signing(status: object, before: object = {}): ApiObject | string[] {
  const old = withStatus(before);
  const object = withStatus(structuredClone(status));
  kind.changes.status!.prepare!(object, old, { now: nowText });
  const errors = texts(kind.changes.status!.validate!(object, old));
  return errors.length ? errors : object;
}

describe('an approval', () => {
  it('takes conditions alone, and fills in their times', () => {
    const result = approval({ certificate: 'eA==', conditions: [approved] });
    expect((result as ApiObject).status).toEqual({
      conditions: [{ ...approved, lastUpdateTime: nowText, lastTransitionTime: nowText }],
    });
  });

  it('keeps the time of a decision that stays', () => {
    const result = approval({ conditions: [approved] }, { conditions: [timed(approved)] }) as ApiObject;
    expect(result.status).toMatchObject({
      conditions: [{ lastUpdateTime: nowText, lastTransitionTime: createdText }],
    });
  });

  it.each([
    [
      [approved, denied],
      'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
    ],
    [
      [{ ...approved, status: 'False' }],
      'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
    ],
    [[denied, denied], 'status.conditions[1].type: Duplicate value: "Denied"'],
    [[{ status: 'True' }], 'status.conditions[0].type: Required value'],
    [[{ type: 'Approved' }], 'status.conditions[0].status: Required value'],
  ])('%#: is refused', (conditions, text) => {
    expect(approval({ conditions })).toEqual([text]);
  });

  it('cannot be taken back', () => {
    expect(approval({ conditions: [] }, { conditions: [timed(approved)] })).toEqual([
      'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
    ]);
  });
});

describe('a signer', () => {
  it('cannot approve', () => {
    expect(signing({ conditions: [approved] })).toEqual([
      'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
    ]);
  });

  it('leaves the approval as it is and adds its own conditions', () => {
    const before = { conditions: [timed(approved)] };
    const result = signing({ conditions: [{ ...approved, message: 'other' }, failed] }, before) as ApiObject;
    expect(result.status).toMatchObject({ conditions: [timed(approved), { type: 'Failed' }] });
  });

  it('cannot replace a certificate', () => {
    expect(signing({ certificate: 'eQ==' }, { certificate: 'eA==' })).toEqual([
      'status.certificate: Forbidden: updates may not modify existing certificate content',
    ]);
  });
});

it.each([
  [{}, {}, ['<none>', 'Pending']],
  [{ expirationSeconds: 3600 }, { conditions: [approved] }, ['60m', 'Approved']],
  [{}, { conditions: [approved], certificate: 'eA==' }, ['<none>', 'Approved,Issued']],
  [{}, { conditions: [approved, failed] }, ['<none>', 'Approved,Failed']],
  [{}, { conditions: [denied] }, ['<none>', 'Denied']],
])('%#: is a row of a table', (more, status, cells) => {
  const object = { ...written(kind, { spec: { ...spec, ...more } }), status } as ApiObject;
  expect(shownCells(kind, object, nowMs)).toEqual(['a', '2m5s', 'example.com/ca', '', ...cells]);
});
