/** Certificates that have ended or soon will: of TLS secrets, and of the authorities that webhooks are trusted by. */
import { X509Certificate } from 'node:crypto';
import type { Any, Examine, Finding } from './finding.ts';

/** How long before its end a certificate is a problem. */
const soonMs = 14 * 24 * 60 * 60_000;
/** Longest text that is read as certificates. */
const charsMax = 64 * 1024;

/** The certificate of a chain in base64 of PEM that ends first. */
function endFindings(base64: unknown, what: string, created = ''): Finding[] {
  if (typeof base64 !== 'string' || base64.length > charsMax) return [];
  const pem = Buffer.from(base64, 'base64').toString('utf8');
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const ends = blocks.map(endOf).filter((each) => each !== undefined);
  if (ends.length === 0) return [];
  const endMs = Math.min(...ends);
  const soon = endMs - soonMs;
  const finding = (tense: string, sinceMs: number): Finding => {
    const text = `${what} ${tense} on ${timeOf(endMs)}`;
    const since = timeOf(Math.max(sinceMs, Date.parse(created) || 0));
    return { cause: text, text, severity: 'error', since, afterMs: sinceMs };
  };
  return [{ ...finding('ends', soon), untilMs: endMs }, finding('has ended', endMs + 1_000)];
}

const timeOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+/, '');

function endOf(pem: string): number | undefined {
  try {
    const endMs = Date.parse(new X509Certificate(pem).validTo);
    // OpenSSL reads a certificate whose end is no time.
    return Number.isNaN(endMs) ? undefined : endMs;
  } catch {
    return undefined;
  }
}

export const secretFindings: Examine = ({ type, data, metadata }) =>
  type === 'kubernetes.io/tls'
    ? endFindings((data as Any)?.['tls.crt'], 'the certificate', metadata.creationTimestamp)
    : [];

/** Several webhooks of a configuration share an authority. */
export const webhookAuthorityFindings: Examine = ({ webhooks }) =>
  ((webhooks ?? []) as Any[])
    .flatMap(({ clientConfig }) => endFindings(clientConfig?.caBundle, 'the authority of the webhook'))
    .slice(0, 2);
