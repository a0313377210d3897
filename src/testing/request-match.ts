/** Which requests are meant: by faults, and when recorded requests are looked up. */
import { release } from '../api/values/release.ts';

/** Text with `*` for any characters, or a regular expression; of several, one has to match. */
export type Pattern = string | RegExp | readonly (string | RegExp)[];

/** What is left out matches everything. */
export interface RequestMatch {
  /** Kubernetes' verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`. */
  readonly verb?: Pattern;
  /** `Pod` or `pods`. */
  readonly kind?: Pattern;
  /** `status`, `scale`, `binding`… */
  readonly subresource?: Pattern;
  readonly namespace?: Pattern;
  readonly name?: Pattern;
  readonly userAgent?: Pattern;
  /** The name of the user, at the secure door. */
  readonly user?: Pattern;
  /** Whether requests of the nodes of this process count, too. Default false. */
  readonly own?: boolean;
}

/** What a request is known by. */
export interface RequestFacts {
  readonly verb: string;
  readonly kind: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly userAgent: string;
  readonly user: string;
}

/** Longer patterns are refused: they may come from outside. */
const patternCharsMax = 1_024;

const names: readonly (keyof RequestMatch)[] = [
  'verb',
  'kind',
  'subresource',
  'namespace',
  'name',
  'userAgent',
  'user',
  'own',
];

/** Throws a sentence when a match has an unknown name or an invalid pattern. */
export function checkMatch(match: RequestMatch): void {
  for (const [name, value] of Object.entries(match)) {
    if (!names.includes(name as keyof RequestMatch))
      throw new TypeError(
        `requests cannot be matched by ${JSON.stringify(name)}; there are ${names.join(', ')}`,
      );
    const patterns = Array.isArray(value) ? value : [value];
    const isPattern = (one: unknown): boolean =>
      one instanceof RegExp || (typeof one === 'string' && one.length <= patternCharsMax);
    if (name === 'own' ? typeof value !== 'boolean' : value !== undefined && !patterns.every(isPattern))
      throw new TypeError(`${JSON.stringify(value)} is no pattern for ${name}`);
  }
}

export function matches(match: RequestMatch, facts: RequestFacts): boolean {
  return (
    (match.own === true || !isOwn(facts)) &&
    fits(match.verb, facts.verb) &&
    (fits(match.kind, facts.kind) || fits(match.kind, facts.resource)) &&
    fits(match.subresource, facts.subresource) &&
    fits(match.namespace, facts.namespace) &&
    fits(match.name, facts.name) &&
    fits(match.userAgent, facts.userAgent) &&
    fits(match.user, facts.user)
  );
}

const isOwn = ({ userAgent }: RequestFacts): boolean => userAgent.includes(release);

function fits(pattern: Pattern | undefined, text: string): boolean {
  if (pattern === undefined) return true;
  if (typeof pattern === 'string') return isLike(pattern, text);
  if (pattern instanceof RegExp) return text.search(pattern) >= 0;
  return pattern.some((one) => fits(one, text));
}

/** Whether text is like a pattern: each part between stars is found behind the one before it. */
function isLike(pattern: string, text: string): boolean {
  const parts = pattern.split('*');
  if (parts.length === 1) return pattern === text;
  const [first, last] = [parts[0]!, parts.at(-1)!];
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= text.length - last.length;
}
