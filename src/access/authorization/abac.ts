/**
 * ABAC: permissions from a file with one policy per line, read once. The older form of a policy, of Kubernetes 1.1, has
 * no version and is converted when it is read.
 */
import {
  type Attributes,
  type Authorizer,
  allowed,
  type Decision,
  type PathRule,
  type ResourceRule,
  type UserRules,
} from '../../api/kind/access.ts';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { authenticated, type User } from '../../api/values/user.ts';
import { matchesPath } from './rule-set.ts';

const version = 'abac.authorization.kubernetes.io/v1beta1';
const all = '*';
const readVerbs: readonly string[] = ['get', 'list', 'watch'];
/** Maximum number of policies: each decision goes through them one by one. */
const policiesMax = 100_000;

/** A policy; properties that are not set are ''. */
interface Policy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

type Properties = Partial<Record<keyof Policy, unknown>>;

/** Parses a policy file. Throws an error with a sentence that names the invalid line. */
export function readPolicies(text: string, file: string): readonly Policy[] {
  const policies: Policy[] = [];
  for (const [at, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    if (policies.length === policiesMax)
      throw new Error(`the policy file ${file} has more than ${policiesMax} policies`);
    try {
      policies.push(readPolicy(line));
    } catch (error) {
      throw new Error(
        `error reading policy file ${file}, line ${at + 1}: ${line.slice(0, 1000)}: ${(error as Error).message}`,
      );
    }
  }
  return policies;
}

function readPolicy(line: string): Policy {
  const value: unknown = JSON.parse(line);
  if (!isJsonObject(value)) throw new Error('a policy is a JSON object');
  if (value.apiVersion === undefined && value.kind === undefined)
    return modern(propertiesOf(value, oldNames));
  if (value.apiVersion !== version || value.kind !== 'Policy')
    throw new Error(`a policy is of kind Policy and version ${version}, or has neither kind nor version`);
  if (value.spec !== undefined && !isJsonObject(value.spec)) throw new Error('spec is a JSON object');
  return propertiesOf((value.spec ?? {}) as JsonObject, Object.keys(unset));
}

const unset: Policy = {
  user: '',
  group: '',
  readonly: false,
  apiGroup: '',
  resource: '',
  namespace: '',
  nonResourcePath: '',
};
const oldNames = ['user', 'group', 'readonly', 'resource', 'namespace'];

function propertiesOf(value: JsonObject, names: readonly string[]): Policy {
  const policy: Properties = { ...unset };
  for (const name of names as (keyof Policy)[]) {
    const given = value[name];
    if (given === undefined || given === null) continue;
    if (typeof given !== typeof unset[name]) throw new Error(`${name} is a ${typeof unset[name]}`);
    policy[name] = given;
  }
  return policy as Policy;
}

/** Converts a policy without a version to the current form. */
function modern({ user, group, readonly, resource, namespace }: Policy): Policy {
  const everyone = user === all || group === all || (!user && !group);
  return {
    user: everyone ? '' : user,
    group: everyone ? authenticated : group,
    readonly,
    apiGroup: all,
    resource: resource || all,
    namespace: namespace || all,
    nonResourcePath: !resource && !namespace ? all : '',
  };
}

export class AbacAuthorizer implements Authorizer {
  constructor(private readonly policies: readonly Policy[]) {}

  decide({ user, info: { verb, path, resource } }: Attributes): Decision {
    const reads = readVerbs.includes(verb);
    const isMet = (policy: Policy): boolean => {
      if (!(reads || !policy.readonly) || !isMeant(policy, user)) return false;
      if (!resource) return matchesPath(policy.nonResourcePath, path);
      return (
        matches(policy.namespace, resource.namespace ?? '') &&
        matches(policy.resource, resource.resource) &&
        matches(policy.apiGroup, resource.group)
      );
    };
    return this.policies.some(isMet) ? allowed : refused;
  }

  rulesFor(user: User, namespace: string): UserRules {
    const resourceRules: ResourceRule[] = [];
    const pathRules: PathRule[] = [];
    for (const policy of this.policies) {
      if (!isMeant(policy, user)) continue;
      const verbs = policy.readonly ? readVerbs : [all];
      if (policy.resource && (policy.namespace === all || policy.namespace === namespace))
        resourceRules.push({ verbs, apiGroups: [policy.apiGroup], resources: [policy.resource] });
      if (policy.nonResourcePath) pathRules.push({ verbs, nonResourceURLs: [policy.nonResourcePath] });
    }
    return { resourceRules, pathRules, incomplete: false, errors: [] };
  }
}

const refused: Decision = { allowed: false, reason: 'No policy matched.' };

const matches = (wanted: string, value: string): boolean => wanted === all || wanted === value;

function isMeant({ user, group }: Policy, { name, groups }: User): boolean {
  if (!user && !group) return false;
  return (!user || matches(user, name)) && (!group || group === all || groups.includes(group));
}
