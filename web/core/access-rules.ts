/** Evaluates the rules that the server lists for a user (SelfSubjectRulesReview). */

interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface Rules {
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly {
    readonly verbs: readonly string[];
    readonly nonResourceURLs?: readonly string[];
  }[];
  /** Whether the user may be allowed more than is listed. */
  readonly incomplete: boolean;
}

/** Rules of a user about whom nothing is known: everything is offered, and the server refuses what is not allowed. */
export const unknownRules: Rules = { resourceRules: [], nonResourceRules: [], incomplete: true };

export interface Wish {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
}

const has = (list: readonly string[] | undefined, wanted: string): boolean =>
  list?.some((each) => each === '*' || each === wanted) ?? false;

/** Whether the rules allow an action; false only when it is certainly not allowed. */
export function allows(rules: Rules, { verb, group, resource, subresource, name }: Wish): boolean {
  const whole = subresource ? `${resource}/${subresource}` : resource;
  return (
    rules.incomplete ||
    rules.resourceRules.some(
      ({ verbs, apiGroups, resources, resourceNames = [] }) =>
        has(verbs, verb) &&
        has(apiGroups, group) &&
        (has(resources, whole) || (subresource !== undefined && has(resources, `*/${subresource}`))) &&
        (resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name))),
    )
  );
}

/** Whether the rules allow a path; paths in rules may end in `*`. */
export const allowsPath = (rules: Rules, verb: string, path: string): boolean =>
  rules.incomplete ||
  rules.nonResourceRules.some(
    ({ verbs, nonResourceURLs = [] }) =>
      has(verbs, verb) &&
      nonResourceURLs.some((each) =>
        each.endsWith('*') ? path.startsWith(each.slice(0, -1)) : each === path,
      ),
  );
