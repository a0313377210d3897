/** Why a call to another server failed, in the words of Go's standard library, which clients show and compare. */
import { dialError, readError, systemCode } from '../../streams/dial/net-error.ts';

export const deadlineExceeded = 'context deadline exceeded';

const certificateProblems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'certificate has expired or is not yet valid',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate signed by unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate signed by unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate signed by unknown authority',
  CERT_SIGNATURE_FAILURE: 'certificate signed by unknown authority',
  INVALID_CA: 'certificate is not authorized to sign other certificates',
  INVALID_PURPOSE: 'certificate specifies an incompatible key usage',
};

interface CallFailure extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
  readonly cert?: { readonly subjectaltname?: string };
}

export function callError(failure: Error, host: string): Error {
  // Several addresses of a name were tried.
  const error: CallFailure = failure instanceof AggregateError ? failure.errors[0] : failure;
  const { syscall } = error;
  const code = systemCode(error);
  if (syscall === 'connect' && error.address) return dialError(error.address, error.port ?? 0, error);
  if (syscall === 'getaddrinfo')
    return new Error(`dial tcp: lookup ${host}: ${code === 'ENOTFOUND' ? 'no such host' : code}`);
  const problem = certificateProblems[code];
  if (problem) return new Error(`tls: failed to verify certificate: x509: ${problem}`, { cause: error });
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return new Error(`tls: failed to verify certificate: x509: ${nameProblem(error, host)}`);
  if (/wrong version number|packet length too long|http request/i.test(error.message))
    return new Error('http: server gave HTTP response to HTTPS client');
  // The other side closed the connection, before or after the handshake.
  if (code === 'ECONNRESET' && /socket hang up|before secure TLS/.test(error.message))
    return new Error('EOF');
  return new Error(readError(error), { cause: error });
}

function nameProblem({ cert }: CallFailure, host: string): string {
  const names = (cert?.subjectaltname ?? '')
    .split(', ')
    .map((name) => name.replace(/^(?:DNS|IP Address):/, ''))
    .filter(Boolean);
  const wanted = host.replace(/^\[|\]$/g, '');
  return names.length
    ? `certificate is valid for ${names.join(', ')}, not ${wanted}`
    : `certificate is not valid for any names, but wanted to match ${wanted}`;
}
