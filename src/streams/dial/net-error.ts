/** Network errors in the words of Go's standard library, which Kubernetes clients show and compare. */

const words: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'cannot assign requested address',
  ECONNABORTED: 'software caused connection abort',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EHOSTDOWN: 'host is down',
  EHOSTUNREACH: 'no route to host',
  EINVAL: 'invalid argument',
  EMFILE: 'too many open files',
  ENETUNREACH: 'network is unreachable',
  EPERM: 'operation not permitted',
  EPIPE: 'broken pipe',
  ETIMEDOUT: 'connection timed out',
};

/**
 * The name of a system's error, such as ECONNRESET; '' for other errors. Not every `code` is a text: errors of the API
 * have the code of HTTP there, and those of an AbortSignal a number, too.
 */
export function systemCode(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Such as `connection refused`; messages of other errors stay as they are. */
const systemWords = (error: unknown): string =>
  words[systemCode(error)] || (error as Error).message || String(error);

/** `10.0.0.1:80`, `[::1]:80`. */
export const hostPort = (host: string, port: number): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** `dial tcp 10.0.0.1:80: connect: connection refused`. */
export const dialError = (host: string, port: number, error: unknown): Error =>
  new Error(`dial tcp ${hostPort(host, port)}: connect: ${systemWords(error)}`, { cause: error });

export const dialTimeout = (host: string, port: number): Error =>
  new Error(`dial tcp ${hostPort(host, port)}: i/o timeout`);

/** The text for a connection that failed while an answer was awaited. */
export function readError(error: unknown): string {
  const { message } = error as Error;
  const code = systemCode(error);
  // Node's message when the connection ended before an answer; a reset has an errno.
  if (message === 'socket hang up') return 'unexpected EOF';
  if (code === 'HPE_HEADER_OVERFLOW') return 'net/http: server response headers exceeded the limit; aborted';
  if (code.startsWith('HPE_')) return 'malformed HTTP response';
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'ETIMEDOUT') return `read: ${systemWords(error)}`;
  return systemWords(error);
}
