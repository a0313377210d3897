/**
 * TLS connections to servers that are verified by certificates an administrator names: a `caBundle`, a certificate authority of
 * a kubeconfig, that of an OIDC issuer.
 *
 * OpenSSL decides by names alone which certificate signed another. It takes a certificate whose issuer has the same name as
 * its subject for self-signed, and of two authorities with one name it tries one. Go, and so Kubernetes, looks for the key
 * that made the signature. What OpenSSL refuses for want of a signer is therefore looked at again here, by signatures.
 */
import { X509Certificate } from 'node:crypto';
import { Agent, type AgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import {
  type ConnectionOptions,
  checkServerIdentity,
  createSecureContext,
  type TLSSocket,
  connect as tlsConnect,
} from 'node:tls';
import { wallClock } from '../clock.ts';
import { serverAuth, verifyChain } from './certificate-chain.ts';
import { certificatesIn } from './pem.ts';

/** Maximum number of further certificates that are used from a server. */
const intermediatesMax = 8;

/** OpenSSL's errors for a missing signer: it found none, or one of that name with another key. */
const unsignedCodes: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);

/**
 * Names of servers are at most this long, as in DNS. OpenSSL refuses more than 255 characters and leaves that error in the
 * queue of its thread, where the next connection that is read finds it and is closed: that of another user.
 */
const serverNameCharsMax = 253;

const identityCode = 'ERR_TLS_CERT_ALTNAME_INVALID';

export interface TrustedOptions extends ConnectionOptions {
  /** Trusted certificates in PEM, each on its own, even if it is the server's own and not an authority. */
  readonly ca?: string;
}

/**
 * Like `tls.connect`. An untrusted server leads to the event `error`, and nothing is sent to it. Listeners for
 * `secureConnect` are called nevertheless, with a destroyed socket.
 */
export function connectTrusted(options: TrustedOptions): TLSSocket {
  const problem = nameProblem(options);
  if (problem) throw problem;
  const { ca, rejectUnauthorized = true } = options;
  if (!ca || !rejectUnauthorized) return tlsConnect(options);
  const socket = tlsConnect({ ...options, allowPartialTrustChain: true, rejectUnauthorized: false });
  socket.once('secureConnect', () => {
    const distrust = problemOf(socket, ca, options.servername || options.host || 'localhost');
    if (distrust) socket.destroy(distrust);
  });
  return socket;
}

/** An agent that keeps connections to servers trusted this way. */
export class TrustedAgent extends Agent {
  constructor(options: Omit<AgentOptions, 'ca'> & { readonly ca?: string }) {
    // No session cache: a resumed session does not contain the certificates between the server's and its authority.
    // Node would read the certificates again for each connection.
    const own = options.ca
      ? {
          maxCachedSessions: 0,
          secureContext: createSecureContext({ ...options, allowPartialTrustChain: true }),
        }
      : {};
    super({ ...options, ...own });
  }

  override createConnection(
    options: Parameters<Agent['createConnection']>[0],
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const trusted = options as TrustedOptions;
    const problem = nameProblem(trusted);
    if (problem) {
      if (!callback) throw problem;
      callback(problem, undefined as never);
      return undefined;
    }
    return trusted.ca ? connectTrusted(trusted) : super.createConnection(options, callback);
  }
}

/** The error of a name that is too long for DNS, as Node words it. */
function nameProblem({ host, servername }: ConnectionOptions): Error | undefined {
  const name = [servername, host].find((one) => one && Buffer.byteLength(one) > serverNameCharsMax);
  if (name === undefined) return undefined;
  const detail = { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: name };
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), detail);
}

/** Why a server is not trusted, with one of Node's error codes. */
function problemOf(socket: TLSSocket, ca: string, host: string): Error | undefined {
  if (socket.authorized) return undefined;
  // Node's types say it is an error, but it is the code of one.
  const code = String(socket.authorizationError);
  const leaf = socket.getPeerX509Certificate();
  if (!leaf) return new Error('the server shows no certificate');
  if (code !== identityCode) {
    const problem = unsignedCodes.has(code) ? chainProblem(leaf, ca) : 'the certificate is not valid';
    if (problem) return Object.assign(new Error(`${problem} (${code})`), { code });
  }
  return checkServerIdentity(host, leaf.toLegacyObject());
}

function chainProblem(leaf: X509Certificate, ca: string): string | undefined {
  const intermediates: X509Certificate[] = [];
  for (let next = leaf.issuerCertificate; next && intermediates.length < intermediatesMax; ) {
    intermediates.push(next);
    next = next.issuerCertificate;
  }
  try {
    const authorities = certificatesIn(ca).flatMap(readable);
    verifyChain({ leaf, intermediates, authorities, usage: serverAuth, nowMs: wallClock() });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function readable(der: Buffer): X509Certificate[] {
  try {
    return [new X509Certificate(der)];
  } catch {
    return [];
  }
}
