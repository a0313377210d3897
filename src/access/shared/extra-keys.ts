/**
 * Validates keys of a user's extra, in constrained impersonation and of issuers: a domain and a path, in lower case.
 */
import { isSubdomain1123 } from '../../api/values/names.ts';

const pathForm = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** Why the extra of a wanted user is refused; undefined when it is valid. */
export function extraProblem(extra: Readonly<Record<string, readonly string[]>>): string | undefined {
  for (const [key, values] of Object.entries(extra)) {
    if (key === '') return 'impersonating the empty string key in extra is not allowed';
    const problem = keyProblem(key);
    if (problem !== undefined) return `impersonating an invalid key in extra is not allowed: ${problem}`;
    if (key !== key.toLowerCase())
      return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`;
    if (values.length === 0) return 'impersonating empty values in extra is not allowed';
    if (values.includes('')) return 'impersonating the empty string value in extra is not allowed';
  }
  return undefined;
}

/** Why a key that an operator chose is refused; undefined when it is valid. */
export const extraKeyProblem = (key: string): string | undefined =>
  keyProblem(key) ?? (key === key.toLowerCase() ? undefined : 'it must be in small letters');

function keyProblem(key: string): string | undefined {
  const invalid = (why: string): string => `extra.key: Invalid value: ${JSON.stringify(key)}: ${why}`;
  const slash = key.indexOf('/');
  const domain = slash < 0 ? key : key.slice(0, slash);
  const path = slash < 0 ? '' : key.slice(slash + 1);
  if (slash < 0 || domain === '' || path === '')
    return invalid('must be a domain-prefixed path (such as "acme.io/foo")');
  const [problem] = isSubdomain1123(domain);
  if (problem !== undefined) return `extra.key: Invalid value: ${JSON.stringify(domain)}: ${problem}`;
  return pathForm.test(path) ? undefined : `extra.key: Invalid value: ${JSON.stringify(path)}: Invalid path`;
}
