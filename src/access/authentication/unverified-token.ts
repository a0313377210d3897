/** Parses JSON Web Tokens without verification: only to find the issuer and the key id. */

export interface UnverifiedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The header and claims; undefined when it is not such a token. */
export function readUnverified(token: string): UnverifiedToken | undefined {
  const parts = token.split('.', 4);
  if (parts.length !== 3) return undefined;
  const header = jsonOf(parts[0]!);
  const claims = header && jsonOf(parts[1]!);
  return claims && { header, claims };
}

function jsonOf(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
