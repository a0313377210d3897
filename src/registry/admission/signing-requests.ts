/**
 * The rules of signing requests that need cryptography, which the rules of kinds do without: the request can be read and
 * is signed with its own key, and what a signer stores is a certificate.
 */
import { X509Certificate } from 'node:crypto';
import { type FieldError, invalid } from '../../api/errors/field-error.ts';
import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import type { Kind, ResourceId } from '../../api/kind/kind.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { pemBlocks } from '../../pki/pem.ts';
import { readSigningRequest, type SigningRequest, SigningRequestError } from '../../pki/signing-request.ts';

export const signingRequestId: ResourceId = 'certificates.k8s.io/certificatesigningrequests';

const none: readonly FieldError[] = [];

/** The request that an object holds; throws a `SigningRequestError`. */
export const requestIn = ({ spec }: CertificateSigningRequest): SigningRequest =>
  readSigningRequest(textOf(spec?.request));

const textOf = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString('latin1');

/** For creates: the request itself cannot be changed. */
export function requestErrors({ id }: Kind, object: ApiObject): readonly FieldError[] {
  if (id !== signingRequestId) return none;
  const request = object as CertificateSigningRequest;
  try {
    requestIn(request);
    return none;
  } catch (error) {
    if (!(error instanceof SigningRequestError)) throw error;
    return [invalid('spec.request', request.spec?.request, error.message)];
  }
}

/** For updates of the status. */
export function certificateErrors({ id }: Kind, object: ApiObject, old: ApiObject): readonly FieldError[] {
  if (id !== signingRequestId) return none;
  const certificate = (object as CertificateSigningRequest).status?.certificate;
  if (!certificate || certificate === (old as CertificateSigningRequest).status?.certificate) return none;
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
