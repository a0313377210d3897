/**
 * CertificateSigningRequest: asks a signer for a certificate. Approval and signing are subresources of their own,
 * because they are for different users. What needs cryptography is checked by the registry (`signing-requests.ts`).
 */
import { duplicate, forbidden, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { CertificateSigningRequest, CertificateSigningRequestSpec } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { resetting } from '../../kind/reset-fields.ts';
import { approval, status } from '../../kind/subresource.ts';
import { signerNameErrors } from '../../rules/access/signer-name.ts';
import {
  conditionChangeErrors,
  hasCondition,
  keepApprovals,
  setConditionTimes,
  signingConditionErrors,
} from '../../rules/access/signing-conditions.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { cloneJson } from '../../text/object.ts';
import { addressText, parseIP } from '../../values/addresses.ts';
import { isPathSegment } from '../../values/names.ts';
import { kubeletServingSigner, sourceAddressKey } from '../../values/node-identity.ts';
import { durationText } from '../../values/time.ts';

const expirationSecondsMin = 600;
const legacySigner = 'kubernetes.io/legacy-unknown';

/** What a key may be used for. */
export const usageNames: readonly string[] = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];

function* specErrors({
  usages = [],
  signerName,
  expirationSeconds,
}: Partial<CertificateSigningRequestSpec>): Findings {
  if (usages.length === 0) yield required('spec.usages');
  for (const [i, usage] of usages.entries())
    if (!usageNames.includes(usage)) yield notSupported(index('spec.usages', i), usage, usageNames);
  const seen = new Set<string>();
  for (const [i, usage] of usages.entries()) {
    if (seen.has(usage)) yield duplicate(index('spec.usages', i), usage);
    seen.add(usage);
  }
  if (signerName === legacySigner)
    yield invalid('spec.signerName', signerName, 'the legacy signerName is not allowed via this API version');
  else yield* signerNameErrors('spec.signerName', signerName);
  if (expirationSeconds !== undefined && expirationSeconds < expirationSecondsMin)
    yield invalid(
      'spec.expirationSeconds',
      expirationSeconds,
      `may not specify a duration less than ${expirationSecondsMin} seconds (10 minutes)`,
    );
}

function* approvalErrors(request: CertificateSigningRequest, old: CertificateSigningRequest): Findings {
  yield* signingConditionErrors(request);
  yield* conditionChangeErrors(request, old, 'approval');
}

function* statusErrors(request: CertificateSigningRequest, old: CertificateSigningRequest): Findings {
  yield* signingConditionErrors(request);
  yield* conditionChangeErrors(request, old, 'status');
  const before = old.status?.certificate;
  if (before && before !== request.status?.certificate)
    yield forbidden('status.certificate', 'updates may not modify existing certificate content');
}

function conditionCell(request: CertificateSigningRequest): string {
  const decision = ['Denied', 'Approved'].find((type) => hasCondition(request, type)) ?? 'Pending';
  const failed = hasCondition(request, 'Failed') ? ',Failed' : '';
  return `${decision}${failed}${request.status?.certificate ? ',Issued' : ''}`;
}

/** Where a request for the certificate of an agent came from: the one address that it has proved to be its own. */
function setSource(extra: Record<string, readonly string[]>, address: string | undefined): void {
  const source = parseIP(address ?? '');
  if (source) extra[sourceAddressKey] = [addressText(source)];
  else delete extra[sourceAddressKey];
}

export const certificateSigningRequest = defineKind<CertificateSigningRequest>({
  kind: 'CertificateSigningRequest',
  resource: 'certificatesigningrequests',
  singular: 'certificatesigningrequest',
  shortNames: ['csr'],
  group: 'certificates.k8s.io',
  version: 'v1',
  table: 'certificates-v1',
  namespaced: false,
  nameRule: isPathSegment,
  subresources: [
    approval({
      prepare(request, old, { now }) {
        request.status = { ...old.status, conditions: request.status?.conditions };
        setConditionTimes(request, old, now);
      },
      validate: (request, old) => collect(approvalErrors(request, old)),
      resets: resetting(['spec'], { 'f:status': { 'f:certificate': {} } }),
    }),
    status({
      prepare(request, old, { now }) {
        keepApprovals(request, old);
        setConditionTimes(request, old, now);
      },
      validate: (request, old) => collect(statusErrors(request, old)),
      resets: resetting(['spec'], { 'f:status': { 'f:conditions': {} } }),
    }),
  ],
  resets: resetting(['spec', 'status']),

  // Signers decide by who asks, so that is never taken from the client.
  setCreator(request, user, connection) {
    const extra = { ...user.extra };
    if (request.spec?.signerName === kubeletServingSigner) setSource(extra, connection?.remoteAddress);
    request.spec = {
      ...request.spec,
      username: user.name,
      uid: user.uid || undefined,
      groups: user.groups.length ? [...user.groups] : undefined,
      extra: Object.keys(extra).length ? (cloneJson(extra) as Record<string, string[]>) : undefined,
    } as CertificateSigningRequestSpec;
  },
  prepareForUpdate(request, old) {
    request.spec = cloneJson(old.spec) as CertificateSigningRequestSpec;
  },
  // The spec cannot change.
  validate: ({ spec = {} }, old) => (old ? [] : collect(specErrors(spec))),

  selectableFields: { 'spec.signerName': ({ spec }) => spec?.signerName ?? '' },

  columns: [
    nameColumn,
    ageColumn,
    { name: 'SignerName', description: 'Who is asked to sign.' },
    { name: 'Requestor', description: 'The user who asks.' },
    { name: 'RequestedDuration', description: 'How long the certificate is to be valid.' },
    { name: 'Condition', description: 'What became of the request.' },
  ],
  cells: (request) => [
    request.metadata.name,
    ageCell(request),
    request.spec?.signerName ?? '',
    request.spec?.username ?? '',
    request.spec?.expirationSeconds === undefined
      ? '<none>'
      : durationText(request.spec.expirationSeconds * 1000),
    conditionCell(request),
  ],
});
