/**
 * Client certificates: the user is the common name of the subject, the groups are its organisations. Subject and
 * signature are evaluated once per connection; validity is checked with every request, because certificates expire and
 * authorities change while connections stay open.
 */
import { createHash, X509Certificate } from 'node:crypto';
import type { User } from '../../api/values/user.ts';
import { clientAuth, verifyChain } from '../../pki/certificate-chain.ts';
import { certificateDetails } from '../../pki/certificate-details.ts';
import { certificatesIn } from '../../pki/pem.ts';
import type { Authenticator, Credentials, PeerCertificate } from './authenticator.ts';
import { CredentialError } from './token-authenticator.ts';

/** An invalid certificate is checked again after this time: it may not have been valid yet. */
const refusedMs = 1_000;

interface Verdict {
  readonly authorities: readonly X509Certificate[];
  readonly fromMs: number;
  readonly untilMs: number;
  readonly problem: string | undefined;
}

/** The trusted authorities, and cached results for connections with certificates. */
export class ClientAuthorities {
  readonly #verdicts = new WeakMap<PeerCertificate, Verdict>();
  #pem: string;
  #certificates: readonly X509Certificate[];

  /** Throws an error with a sentence when the text contains no certificate. */
  constructor(
    pem: string,
    private readonly nowMs: () => number,
  ) {
    this.#certificates = readAuthorities(pem);
    this.#pem = pem;
  }

  get pem(): string {
    return this.#pem;
  }

  /** Replaces the authorities, also for open connections. Throws when the text contains no certificate. */
  replace(pem: string): void {
    this.#certificates = readAuthorities(pem);
    this.#pem = pem;
  }

  /** Throws when the certificate is not valid. */
  verify(peer: PeerCertificate): void {
    const now = this.nowMs();
    let verdict = this.#verdicts.get(peer);
    if (
      !verdict ||
      verdict.authorities !== this.#certificates ||
      now < verdict.fromMs ||
      now > verdict.untilMs
    ) {
      verdict = this.#judge(peer, now);
      this.#verdicts.set(peer, verdict);
    }
    if (verdict.problem !== undefined) throw new CredentialError(verdict.problem);
  }

  #judge({ leaf, intermediates }: PeerCertificate, nowMs: number): Verdict {
    const authorities = this.#certificates;
    try {
      const validity = verifyChain({ leaf, intermediates, authorities, usage: clientAuth, nowMs });
      return { authorities, ...validity, problem: undefined };
    } catch (error) {
      const { message } = error as Error;
      return { authorities, fromMs: nowMs, untilMs: nowMs + refusedMs, problem: message };
    }
  }
}

function readAuthorities(pem: string): readonly X509Certificate[] {
  const certificates = certificatesIn(pem);
  if (certificates.length === 0) throw new Error('there is no certificate in it');
  return certificates.map((der) => new X509Certificate(der));
}

const users = new WeakMap<PeerCertificate, User | CredentialError | 'none'>();

export class ClientCertificates implements Authenticator {
  constructor(private readonly authorities: ClientAuthorities) {}

  authenticate(credentials: Credentials): User | undefined {
    const { certificate } = credentials;
    if (!certificate || credentials.isForeignPage) return undefined;
    this.authorities.verify(certificate);
    const user = users.get(certificate) ?? remember(certificate);
    if (user instanceof CredentialError) throw user;
    return user === 'none' ? undefined : user;
  }
}

function remember(peer: PeerCertificate): User | CredentialError | 'none' {
  const user = subjectUser(peer.leaf);
  users.set(peer, user);
  return user;
}

/** The user that a certificate names; 'none' when it has no common name. */
function subjectUser(leaf: X509Certificate): User | CredentialError | 'none' {
  const { commonName: name, organizations, uids } = certificateDetails(leaf).subject;
  if (!name) return 'none';
  if (uids.length > 1 || uids[0] === '')
    return new CredentialError('the certificate must have one uid that is not empty, or none');
  return {
    name,
    ...(uids[0] === undefined ? {} : { uid: uids[0] }),
    groups: organizations,
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${digestOf(leaf)}`] },
  };
}

const digestOf = ({ raw }: X509Certificate): string => createHash('sha256').update(raw).digest('hex');

/** The common name, for the names of front proxies; '' when it is missing. */
export const commonNameOf = (leaf: X509Certificate): string => certificateDetails(leaf).subject.commonName;
