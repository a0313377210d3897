/** Rule sets: the rules of one role, indexed for decisions. */

import type { PolicyRule } from '../../api/generated/types.ts';
import type { ResourceAction } from '../../api/kind/access.ts';

const all = '*';

/** The names a rule applies to; undefined: all. */
export type Names = ReadonlySet<string> | undefined;

interface ResourceRule {
  readonly verbs: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly names: Names;
}

export class RuleSet {
  /** Rules by entry of `resources`: `pods`, `pods/log`, `*`, or the wildcard `*` followed by `/scale`. */
  readonly #byResource = new Map<string, ResourceRule[]>();
  readonly #pathRules: readonly PolicyRule[];

  constructor(readonly rules: readonly PolicyRule[]) {
    for (const rule of rules) this.#add(rule);
    this.#pathRules = rules.filter(({ nonResourceURLs }) => nonResourceURLs?.length);
  }

  #add({ verbs, apiGroups, resources, resourceNames }: PolicyRule): void {
    if (!resources?.length) return;
    const rule = {
      verbs: new Set(verbs),
      groups: new Set(apiGroups),
      names: resourceNames?.length ? new Set(resourceNames) : undefined,
    };
    for (const resource of new Set(resources)) {
      const known = this.#byResource.get(resource);
      if (known) known.push(rule);
      else this.#byResource.set(resource, [rule]);
    }
  }

  /** Calls `told` with the names of each rule for a verb and a resource, until it returns true. */
  names(
    verb: string,
    { group, resource, subresource }: ResourceAction,
    told: (names: Names) => boolean,
  ): boolean {
    const among = (rules: readonly ResourceRule[] | undefined): boolean =>
      rules?.some(
        ({ verbs, groups, names }) =>
          (verbs.has(verb) || verbs.has(all)) && (groups.has(group) || groups.has(all)) && told(names),
      ) ?? false;
    const rules = this.#byResource;
    if (among(rules.get(all))) return true;
    if (!subresource) return among(rules.get(resource));
    return among(rules.get(`${resource}/${subresource}`)) || among(rules.get(`${all}/${subresource}`));
  }

  /** The path patterns that a verb is allowed on. */
  paths(verb: string): readonly string[] {
    return this.#pathRules
      .filter(({ verbs }) => verbs?.includes(verb) || verbs?.includes(all))
      .flatMap(({ nonResourceURLs }) => nonResourceURLs!);
  }

  /** Whether an action is allowed, including its name and subresource. */
  allows(verb: string, resource: ResourceAction): boolean {
    const { name } = resource;
    return this.names(verb, resource, (names) => !names || (name !== undefined && names.has(name)));
  }
}

/** Whether a pattern matches: a path, or a prefix of paths followed by a star. */
export function matchesPath(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  let end = pattern.length;
  while (end > 0 && pattern[end - 1] === all) end--;
  return end < pattern.length && path.startsWith(pattern.slice(0, end));
}
