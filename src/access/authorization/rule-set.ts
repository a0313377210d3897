/** Rule sets: the rules of one role, indexed for decisions. */

import type { PolicyRule } from '../../api/generated/types.ts';
import type { ResourceAction } from '../../api/kind/access.ts';
import { Memo } from '../../memo.ts';
import { optimized } from '../../switches.ts';
import { givenAtOnce } from '../../time-slices.ts';

const all = '*';
/** Longer lists are searched by a set, and more rules by an index. */
const searchedMax = 16;
/** The approximate number of steps that it takes to file one value of a rule. */
const filingSteps = 10;

/** A right to do one thing. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  /** Entries of `resources` that mean it: `pods`, `pods/log`, `*`, or the wildcard `*` followed by `/scale`. */
  readonly resources: readonly string[];
  /** undefined: with all names. */
  readonly name: string | undefined;
}

/** The lists by one of which a rule can be found. */
const lists = ['resources', 'resourceNames', 'apiGroups', 'verbs'] as const;

export class RuleSet {
  /**
   * Rules by the values of one of their lists, for each of `lists`. A rule is filed by the list whose values the fewest
   * others are filed by, so that a right is found among few rules, whatever they have in common.
   */
  readonly #filed = lists.map(() => new Map<string, PolicyRule[]>());
  readonly #pathRules: PolicyRule[] = [];
  #hasNames = false;

  private constructor(readonly rules: readonly PolicyRule[]) {}

  static of(rules: readonly PolicyRule[]): RuleSet {
    return givenAtOnce(RuleSet.reading(rules));
  }

  /** The same, in parts. */
  static *reading(rules: readonly PolicyRule[]): Generator<number, RuleSet> {
    const set = new RuleSet(rules);
    for (const rule of rules) {
      set.#file(rule);
      yield filingSteps * lists.reduce((sum, list) => sum + (rule[list]?.length ?? 0), 1);
    }
    return set;
  }

  #file(rule: PolicyRule): void {
    const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
    if (nonResourceURLs?.length) this.#pathRules.push(rule);
    if (!verbs?.length || !apiGroups?.length || !resources?.length) return;
    if (resourceNames?.length) this.#hasNames = true;
    if (this.rules.length <= searchedMax) return;
    let [best, least, length] = [0, Number.POSITIVE_INFINITY, 0];
    for (const [at, list] of lists.entries()) {
      const values = rule[list];
      if (!values?.length) continue;
      let crowd = 0;
      for (const value of values) crowd = Math.max(crowd, this.#filed[at]!.get(value)?.length ?? 0);
      if (crowd < least || (crowd === least && values.length < length))
        [best, least, length] = [at, crowd, values.length];
    }
    const filed = this.#filed[best]!;
    for (const value of new Set(rule[lists[best]!])) {
      const known = filed.get(value);
      if (known) known.push(rule);
      else filed.set(value, [rule]);
    }
  }

  /** Whether some rule is about objects of certain names. */
  get hasNames(): boolean {
    return this.#hasNames;
  }

  /** Rules with paths. */
  get pathRules(): readonly PolicyRule[] {
    return this.#pathRules;
  }

  /** Lists of all rules that may grant a right, and of others. */
  candidates(right: Right): Iterable<readonly PolicyRule[]> {
    return this.rules.length <= searchedMax ? [this.rules] : this.#found(right);
  }

  *#found({ verb, group, resources, name }: Right): Generator<readonly PolicyRule[]> {
    const values = [resources, name === undefined ? [] : [name], [group, all], [verb, all]];
    for (const [at, filed] of this.#filed.entries())
      if (filed.size > 0)
        for (const value of values[at]!) {
          const rules = filed.get(value);
          if (rules) yield rules;
        }
  }

  /** The path patterns that a verb is allowed on. */
  paths(verb: string): readonly string[] {
    return this.#pathRules
      .filter(({ verbs }) => verbs?.includes(verb) || verbs?.includes(all))
      .flatMap(({ nonResourceURLs }) => nonResourceURLs!);
  }

  /** Whether an action is allowed, including its name and subresource. */
  allows(verb: string, { group, resource, subresource, name }: ResourceAction): boolean {
    const resources = subresource
      ? [all, `${resource}/${subresource}`, `${all}/${subresource}`]
      : [all, resource];
    const right = { verb, group, resources, name };
    for (const rules of this.candidates(right)) if (rules.some((rule) => grants(rule, right))) return true;
    return false;
  }
}

/** Whether a rule grants a right. */
function grants(rule: PolicyRule, { verb, group, resources, name }: Right): boolean {
  const { resourceNames } = rule;
  return (
    (holds(rule.verbs, verb) || holds(rule.verbs, all)) &&
    (holds(rule.apiGroups, group) || holds(rule.apiGroups, all)) &&
    resources.some((resource) => holds(rule.resources, resource)) &&
    (!resourceNames?.length || (name !== undefined && holds(resourceNames, name)))
  );
}

const sets = new Memo((list: readonly string[]) => new Set(list));

/** Whether a list of a rule has a value. */
export const holds = (list: readonly string[] = [], value: string): boolean =>
  list.length > searchedMax && optimized ? sets.of(list).has(value) : list.includes(value);

/** Whether a pattern matches: a path, or a prefix of paths followed by a star. */
export function matchesPath(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  let end = pattern.length;
  while (end > 0 && pattern[end - 1] === all) end--;
  return end < pattern.length && path.startsWith(pattern.slice(0, end));
}
