/**
 * Requests that Go's net/http answers before any handler sees them, so also before kube-apiserver does, in plain text and for
 * the last time on their connection: with several hosts, without one, with one that is no host, in a version of HTTP that is
 * not 1.1 or 1.0, or sent in a form other than chunks.
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http';

export interface ProtocolRefusal {
  readonly code: number;
  readonly text: string;
}

const refusal = (code: number, why?: string): ProtocolRefusal => ({
  code,
  text: `${code} ${STATUS_CODES[code]}${why === undefined ? '' : `: ${why}`}`,
});

export const unsupportedEncoding: ProtocolRefusal = { code: 501, text: 'Unsupported transfer encoding' };
const unsupportedVersion = refusal(505, 'unsupported protocol version');
const malformed = refusal(400);

/** The characters that Go allows in a host; which of them make one is for others to say. */
export const isHostText = (host: string): boolean => /^[\w!$%&()*+,\-.:;='[\]~]*$/.test(host);

/** Header lines in the form that Node calls raw: names and values in turn. */
export function protocolRefusal(
  request: Pick<IncomingMessage, 'httpVersion' | 'rawHeaders'>,
): ProtocolRefusal | undefined {
  const { httpVersion, rawHeaders } = request;
  // Node calls a request without a version one of 0.9.
  if (httpVersion === '0.9') return malformed;
  if (!httpVersion.startsWith('1.')) return unsupportedVersion;
  const hosts: string[] = [];
  const encodings: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (name === 'host') hosts.push(rawHeaders[i + 1]!);
    else if (name === 'transfer-encoding') encodings.push(rawHeaders[i + 1]!);
  }
  if (encodings.length > 1 || (encodings.length && encodings[0]!.toLowerCase() !== 'chunked'))
    return unsupportedEncoding;
  const [host] = hosts;
  if (hosts.length > 1) return malformed;
  if (host === undefined)
    return httpVersion === '1.1' ? refusal(400, 'missing required Host header') : undefined;
  return isHostText(host) ? undefined : refusal(400, 'malformed Host header');
}
