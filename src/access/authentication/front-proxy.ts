/**
 * The front proxy: a server in front of this one that has authenticated the user, and passes the user on in headers.
 * The headers count only from a client whose certificate was signed by the authority for proxies.
 */
import type { User } from '../../api/values/user.ts';
import type { Authenticator, Credentials, PeerCertificate } from './authenticator.ts';
import { type ClientAuthorities, commonNameOf } from './client-certificates.ts';
import { extraOf, headerValues } from './identity-headers.ts';
import { CredentialError } from './token-authenticator.ts';

export interface ProxyHeaders {
  /** Common names of proxies; empty: any. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
}

const names = new WeakMap<PeerCertificate, string>();

export class FrontProxy implements Authenticator {
  readonly #headers: ProxyHeaders;

  constructor(
    private readonly authorities: ClientAuthorities,
    headers: ProxyHeaders,
  ) {
    const lower = (list: readonly string[]): string[] => list.map((name) => name.toLowerCase());
    this.#headers = {
      allowedNames: headers.allowedNames,
      usernameHeaders: lower(headers.usernameHeaders),
      uidHeaders: lower(headers.uidHeaders),
      groupHeaders: lower(headers.groupHeaders),
      extraHeaderPrefixes: lower(headers.extraHeaderPrefixes),
    };
  }

  /** @param name in lower case */
  reads(name: string): boolean {
    const { usernameHeaders, uidHeaders, groupHeaders, extraHeaderPrefixes } = this.#headers;
    return (
      [usernameHeaders, uidHeaders, groupHeaders].some((list) => list.includes(name)) ||
      extraHeaderPrefixes.some((prefix) => name.startsWith(prefix))
    );
  }

  authenticate(credentials: Credentials): User | undefined {
    const { certificate } = credentials;
    if (!certificate) return undefined;
    this.authorities.verify(certificate);
    const { allowedNames, usernameHeaders, uidHeaders, groupHeaders, extraHeaderPrefixes } = this.#headers;
    if (allowedNames.length && !allowedNames.includes(nameOf(certificate)))
      throw new CredentialError('the common name of the certificate is not that of a front proxy');
    const found = headerValues(credentials, (name) => this.reads(name));
    const valuesOf = (headers: readonly string[]): string[] =>
      headers.flatMap((name) => found.get(name) ?? []).filter(Boolean);
    const [name] = valuesOf(usernameHeaders);
    if (name === undefined) return undefined;
    const [uid] = valuesOf(uidHeaders);
    return {
      name,
      ...(uid === undefined ? {} : { uid }),
      groups: valuesOf(groupHeaders),
      extra: extraOf(found, extraHeaderPrefixes) ?? {},
    };
  }
}

function nameOf(certificate: PeerCertificate): string {
  let name = names.get(certificate);
  if (name === undefined) {
    name = commonNameOf(certificate.leaf);
    names.set(certificate, name);
  }
  return name;
}
