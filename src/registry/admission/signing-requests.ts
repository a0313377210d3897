/**
 * Rules of certificate signing requests that need cryptography, which rules of kinds must not use: the request can be
 * parsed and is signed with its own key, and what a signer stores is a certificate.
 */
import { X509Certificate } from 'node:crypto';
import { type FieldError, invalid } from '../../api/errors/field-error.ts';
import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import type { ResourceId } from '../../api/kind/kind.ts';
import { pemBlocks } from '../../pki/pem.ts';
import { readSigningRequest, type SigningRequest, SigningRequestError } from '../../pki/signing-request.ts';
import type { WriteRule } from '../admission-chain.ts';

export const signingRequestId: ResourceId = 'certificates.k8s.io/certificatesigningrequests';

const none: readonly FieldError[] = [];

/** Parses the request in an object; throws a `SigningRequestError`. */
export const requestIn = ({ spec }: CertificateSigningRequest): SigningRequest =>
  readSigningRequest(textOf(spec?.request));

const textOf = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString('latin1');

/**
 * The request is checked once, at creation, because it cannot be changed; certificates are checked when the status is
 * updated.
 */
export const signingRequestRule: WriteRule = {
  kinds: [signingRequestId],
  isFirst: true,
  errors(_registry, { operation, target, object, old }) {
    if (operation === 'create') return requestErrors(object as CertificateSigningRequest);
    return target.part === 'status'
      ? certificateErrors(object as CertificateSigningRequest, old as CertificateSigningRequest)
      : none;
  },
};

function requestErrors(request: CertificateSigningRequest): readonly FieldError[] {
  try {
    requestIn(request);
    return none;
  } catch (error) {
    if (!(error instanceof SigningRequestError)) throw error;
    return [invalid('spec.request', request.spec?.request, error.message)];
  }
}

function certificateErrors(
  { status }: CertificateSigningRequest,
  old: CertificateSigningRequest,
): readonly FieldError[] {
  const certificate = status?.certificate;
  if (!certificate || certificate === old.status?.certificate) return none;
  const problem = certificateProblem(textOf(certificate));
  return problem === undefined ? none : [invalid('status.certificate', '<certificate data>', problem)];
}

function certificateProblem(text: string): string | undefined {
  const blocks = pemBlocks(text);
  if (blocks.length === 0) return 'must contain at least one CERTIFICATE PEM block';
  for (const { label, bytes, hasHeaders } of blocks) {
    if (label !== 'CERTIFICATE')
      return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(label)}`;
    if (hasHeaders) return 'no PEM block headers are permitted';
    try {
      new X509Certificate(bytes);
    } catch {
      return 'x509: malformed certificate';
    }
  }
  return undefined;
}
