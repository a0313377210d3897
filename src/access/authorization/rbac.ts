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
import { matchesPath } from './rule-set.ts';

/** Maximum number of cached decisions; when exceeded, the cache is cleared. */
const answersMax = 50_000;
/** Users and actions with longer keys are not cached. */
const keyCharsMax = 2_000;

/** The decisions for one user, verb and resource. */
interface Answers {
  /** Decisions for names that rules list. */
  readonly byName: ReadonlyMap<string, Decision>;
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

  decide({ user, info: { verb, path, resource } }: Attributes): Decision {
    const generation = this.index.catchUp();
    if (generation !== this.#generation || this.#count >= answersMax) this.#forget(generation);
    if (!resource) return this.#decidePath(user, verb, path);
    const { byName, otherwise } = this.#answers(user, verb, resource);
    const named = resource.name === undefined ? undefined : byName.get(resource.name);
    return named ?? otherwise;
  }

  rulesFor(user: User, namespace: string): UserRules {
    const rules = this.policyRules(user, namespace);
    return {
      resourceRules: rules.filter(({ resources }) => resources?.length) as UserRules['resourceRules'],
      pathRules: rules.filter(({ nonResourceURLs }) => nonResourceURLs?.length) as UserRules['pathRules'],
      incomplete: false,
      errors: this.missingRoles(user, namespace),
    };
  }

  /** All rules granted to a user in a namespace. Paths are only granted in the whole cluster. */
  policyRules(user: User, namespace: string | undefined): PolicyRule[] {
    this.index.catchUp();
    return this.index
      .grantsOf(user, namespace)
      .flatMap((grant) =>
        (this.index.rulesOf(grant)?.rules ?? []).filter(
          ({ nonResourceURLs }) => !grant.namespace || !nonResourceURLs?.length,
        ),
      );
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

  #answers(user: User, verb: string, resource: ResourceAction): Answers {
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
      answers = this.#workOut(user, verb, resource);
      known.set(what, answers);
      this.#count++;
    }
    return answers;
  }

  #workOut(user: User, verb: string, resource: ResourceAction): Answers {
    const byName = new Map<string, Decision>();
    for (const grant of this.index.grantsOf(user, resource.namespace)) {
      const rules = this.index.rulesOf(grant);
      let decision: Decision | undefined;
      const isForAll = rules?.names(verb, resource, (names) => {
        decision ??= allowedBy(grant, user);
        if (!names) return true;
        for (const name of names) if (!byName.has(name)) byName.set(name, decision);
        return false;
      });
      if (isForAll) return { byName, otherwise: decision! };
    }
    return { byName, otherwise: this.#refused(user, resource.namespace) };
  }

  #decidePath(user: User, verb: string, path: string): Decision {
    const { byPattern, otherwise } = this.#pathAnswers(user, verb);
    for (const [pattern, decision] of byPattern) if (matchesPath(pattern, path)) return decision;
    return otherwise;
  }

  #pathAnswers(user: User, verb: string): PathAnswers {
    const key = composedKey(verb, keyOf(user));
    let answers = this.#pathsByUser.get(key);
    if (!answers) {
      answers = this.#workOutPaths(user, verb);
      if (key.length > keyCharsMax) return answers;
      this.#pathsByUser.set(key, answers);
      this.#count++;
    }
    return answers;
  }

  #workOutPaths(user: User, verb: string): PathAnswers {
    const byPattern = new Map<string, Decision>();
    for (const grant of this.index.grantsOf(user, undefined)) {
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
