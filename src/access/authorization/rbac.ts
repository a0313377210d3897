/**
 * RBAC: users may do what the rules of their roles allow. Decisions are cached per user, verb and resource until a role
 * or a binding changes; object names are looked up in the cached decision, so that a client that reads many objects
 * needs one evaluation.
 */

import type { PolicyRule, Subject } from '../../api/generated/types.ts';
import type { Attributes, Authorizer, Decision, ResourceAction, UserRules } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';
import { composedKey, composedOf } from '../../composed-key.ts';
import { Memo } from '../../memo.ts';
import { accountUser, type Grant, type RbacIndex } from './rbac-index.ts';
import { matchesPath, type RuleSet } from './rule-set.ts';

/** Maximum number of cached decisions; when exceeded, the cache is cleared. */
const answersMax = 50_000;
/** Users and actions with longer keys are not cached. */
const keyCharsMax = 2_000;

/** Maximum number of verbs, groups, resources, names and paths in a list of rules: roles can have millions. */
const listedMax = 20_000;

/** The decisions for one user, verb and resource. */
interface Answers {
  /** Grants that may allow it for some names. */
  readonly named: readonly Grant[];
  /** The decision for all other names. */
  readonly otherwise: Decision;
}

/** The decisions for one user and verb on paths. */
interface PathAnswers {
  readonly byPattern: ReadonlyMap<string, Decision>;
  readonly otherwise: Decision;
}

export class RbacAuthorizer implements Authorizer {
  #generation = -1;
  #count = 0;
  readonly #byUser = new Map<string, Map<string, Answers>>();
  readonly #pathsByUser = new Map<string, PathAnswers>();

  constructor(private readonly index: RbacIndex) {}

  decide(attributes: Attributes): Decision | Promise<Decision> {
    const { user, info } = attributes;
    const { verb, path, resource } = info;
    const generation = this.index.catchUp();
    if (generation !== this.#generation || this.#count >= answersMax) this.#forget(generation);
    const answers = resource ? this.#answers(user, verb, resource) : this.#pathAnswers(user, verb);
    if (answers instanceof Promise) return answers.then(() => this.decide(attributes));
    if (!('named' in answers)) return decisionOnPath(answers, path);
    const { name } = resource!;
    const grant =
      name === undefined
        ? undefined
        : answers.named.find((one) => this.index.rulesOf(one)?.allows(verb, resource!));
    return grant ? allowedBy(grant, user) : answers.otherwise;
  }

  async rulesFor(user: User, namespace: string): Promise<UserRules> {
    const rules: PolicyRule[] = [];
    let left = listedMax;
    // As in Kubernetes, once for each binding.
    for (const grant of await this.#readGrants(user, namespace))
      for (const rule of this.index.rulesOf(grant)?.rules ?? []) {
        if (grant.namespace && rule.nonResourceURLs?.length) continue;
        for (const list of Object.values(rule)) left -= list?.length ?? 0;
        if (left < 0) break;
        rules.push(rule);
      }
    const errors = this.missingRoles(user, namespace);
    return {
      resourceRules: rules.filter(({ resources }) => resources?.length) as UserRules['resourceRules'],
      pathRules: rules.filter(({ nonResourceURLs }) => nonResourceURLs?.length) as UserRules['pathRules'],
      incomplete: left < 0,
      errors: left < 0 ? [...errors, 'there are too many rules to list all'] : errors,
    };
  }

  /**
   * The rules granted to a user in a namespace, by roles, and whether their paths count: these are only granted in the
   * whole cluster.
   */
  async ruleSets(user: User, namespace: string | undefined): Promise<ReadonlyMap<RuleSet, boolean>> {
    const sets = new Map<RuleSet, boolean>();
    for (const grant of await this.#readGrants(user, namespace)) {
      const rules = this.index.rulesOf(grant);
      if (rules) sets.set(rules, sets.get(rules) || !grant.namespace);
    }
    return sets;
  }

  /** What is granted to a user, by roles that have been read. */
  async #readGrants(user: User, namespace: string | undefined): Promise<readonly Grant[]> {
    for (;;) {
      this.index.catchUp();
      const grants = this.index.grantsOf(user, namespace);
      const reading = this.index.read(grants);
      if (!reading) return grants;
      await reading;
    }
  }

  /** Describes roles that are bound to a user but do not exist. */
  missingRoles(user: User, namespace: string | undefined): string[] {
    const missing = this.index.grantsOf(user, namespace).filter((grant) => !this.index.rulesOf(grant));
    return [...new Set(missing.map(notFoundText))];
  }

  #forget(generation: number): void {
    this.#generation = generation;
    this.#count = 0;
    this.#byUser.clear();
    this.#pathsByUser.clear();
  }

  #answers(user: User, verb: string, resource: ResourceAction): Answers | Promise<void> {
    const who = keyOf(user);
    const { group, subresource = '', namespace = '' } = resource;
    const what = composedKey(verb, group, resource.resource, subresource, namespace);
    if (who.length > keyCharsMax || what.length > keyCharsMax) return this.#workOut(user, verb, resource);
    let known = this.#byUser.get(who);
    if (!known) {
      known = new Map();
      this.#byUser.set(who, known);
    }
    let answers = known.get(what);
    if (!answers) {
      const found = this.#workOut(user, verb, resource);
      if (found instanceof Promise) return found;
      answers = found;
      known.set(what, answers);
      this.#count++;
    }
    return answers;
  }

  /** A promise when roles have to be read before. */
  #workOut(user: User, verb: string, resource: ResourceAction): Answers | Promise<void> {
    const grants = this.index.grantsOf(user, resource.namespace);
    const reading = this.index.read(grants);
    if (reading) return reading;
    const named: Grant[] = [];
    for (const grant of grants) {
      const rules = this.index.rulesOf(grant);
      if (rules?.allows(verb, { ...resource, name: undefined }))
        return { named, otherwise: allowedBy(grant, user) };
      if (rules?.hasNames) named.push(grant);
    }
    return { named, otherwise: this.#refused(user, resource.namespace) };
  }

  #pathAnswers(user: User, verb: string): PathAnswers | Promise<void> {
    const key = composedKey(verb, keyOf(user));
    const known = this.#pathsByUser.get(key);
    if (known) return known;
    const answers = this.#workOutPaths(user, verb);
    if (answers instanceof Promise || key.length > keyCharsMax) return answers;
    this.#pathsByUser.set(key, answers);
    this.#count++;
    return answers;
  }

  #workOutPaths(user: User, verb: string): PathAnswers | Promise<void> {
    const grants = this.index.grantsOf(user, undefined);
    const reading = this.index.read(grants);
    if (reading) return reading;
    const byPattern = new Map<string, Decision>();
    for (const grant of grants) {
      const patterns = (this.index.rulesOf(grant)?.paths(verb) ?? []).filter((one) => !byPattern.has(one));
      if (patterns.length === 0) continue;
      const decision = allowedBy(grant, user);
      for (const pattern of patterns) byPattern.set(pattern, decision);
    }
    return { byPattern, otherwise: this.#refused(user, undefined) };
  }

  #refused(user: User, namespace: string | undefined): Decision {
    const missing = this.missingRoles(user, namespace);
    if (missing.length === 0) return noOpinion;
    return {
      allowed: false,
      reason: `RBAC: ${missing.length === 1 ? missing[0] : `[${missing.join(', ')}]`}`,
    };
  }
}

function decisionOnPath({ byPattern, otherwise }: PathAnswers, path: string): Decision {
  for (const [pattern, decision] of byPattern) if (matchesPath(pattern, path)) return decision;
  return otherwise;
}

/** Cached per user object, which is the same for all requests with one credential. */
const userKeys = new Memo(({ name, groups }: User) => composedOf([name, ...groups]));
const keyOf = (user: User): string => userKeys.of(user);

const noOpinion: Decision = { allowed: false, reason: '' };

const notFoundText = ({ roleKind, roleName }: Grant): string =>
  `${roleKind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(roleName)} not found`;

function allowedBy(grant: Grant, user: User): Decision {
  const { name, namespace, roleKind, roleName } = grant;
  const subject = grant.subjects.find((one) => isMeant(one, grant, user))!;
  const binding = namespace
    ? `RoleBinding ${JSON.stringify(`${name}/${namespace}`)}`
    : `ClusterRoleBinding ${JSON.stringify(name)}`;
  return {
    allowed: true,
    reason: `RBAC: allowed by ${binding} of ${roleKind} ${JSON.stringify(roleName)} to ${subjectText(subject, grant)}`,
  };
}

function isMeant(subject: Subject, grant: Grant, user: User): boolean {
  if (subject.kind === 'Group') return user.groups.includes(subject.name ?? '');
  return (subject.kind === 'User' ? subject.name : accountUser(subject, grant)) === user.name;
}

function subjectText(subject: Subject, { namespace: own }: Grant): string {
  const { kind, name = '', namespace } = subject;
  const text = kind === 'ServiceAccount' ? `${name}/${namespace || own}` : name;
  return `${kind} ${JSON.stringify(text)}`;
}
