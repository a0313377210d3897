/** What rules allow, as the server lists them for a user (SelfSubjectRulesReview). */

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
  /** The user may be allowed more than is listed. */
  readonly incomplete: boolean;
}

/** For users of whom nothing is known: the server will say what they may not do. */
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

/** False only when it is certain. */
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

/** Paths may end in `*`. */
export const allowsPath = (rules: Rules, verb: string, path: string): boolean =>
  rules.incomplete ||
  rules.nonResourceRules.some(
    ({ verbs, nonResourceURLs = [] }) =>
      has(verbs, verb) &&
      nonResourceURLs.some((each) =>
        each.endsWith('*') ? path.startsWith(each.slice(0, -1)) : each === path,
      ),
  );
