/**
 * Escalation: users can only grant permissions they have. To write a role, a user must have all permissions of its
 * rules, or the verb `escalate`; to write a binding, all permissions of the role, or the verb `bind`.
 */

import { forbidden, notFound } from '../../api/errors/errors.ts';
import type { ClusterRole, PolicyRule, RoleBinding } from '../../api/generated/types.ts';
import { type Authorizer, isMaster, type ResourceAction } from '../../api/kind/access.ts';
import { rbacGroup } from '../../api/rules/access/rbac.ts';
import { type ApiObject, type JsonObject, semanticEqual } from '../../api/text/object.ts';
import type { User } from '../../api/values/user.ts';
import type { Admission, Guard } from '../../registry/admission-chain.ts';
import { givenInSlices } from '../../time-slices.ts';
import { describePieces, everything, quotedList, TooManyPieces, uncoveredBy } from './coverage.ts';
import type { RbacAuthorizer } from './rbac.ts';
import type { RbacIndex } from './rbac-index.ts';

const roles = new Set([`${rbacGroup}/roles`, `${rbacGroup}/clusterroles`]);
const bindings = new Set([`${rbacGroup}/rolebindings`, `${rbacGroup}/clusterrolebindings`]);

export class Escalation {
  constructor(
    private readonly index: RbacIndex,
    private readonly rbac: RbacAuthorizer,
    private readonly authorizer: Authorizer,
  ) {}

  readonly guard: Guard = (_registry, admission) => {
    const { request, target, object, old } = admission;
    const isRole = roles.has(target.kind.id);
    if (!isRole && !bindings.has(target.kind.id)) return;
    if (request.internal || isMaster(request.user)) return;
    if (old && isCollectorsChange(object!, old)) return;
    return isRole ? this.#checkRole(admission) : this.#checkBinding(admission);
  };

  async #checkRole(admission: Admission): Promise<void> {
    const { request, target, object, old } = admission;
    const { kind, namespace, name } = target;
    const place = { namespace: namespace || undefined, name: request.verb === 'create' ? undefined : name };
    if (await this.#may(request.user, 'escalate', kind.resource, place)) return;
    const { rules, aggregationRule } = object as ClusterRole;
    await this.#checkHeld(admission, rules ?? []);
    const gathers = aggregationRule || (old as ClusterRole | undefined)?.aggregationRule;
    if (gathers && (await this.#missing(request.user, namespace, everything)).length)
      throw forbidden(kind, name, 'must have cluster-admin privileges to use the aggregationRule');
  }

  async #checkBinding(admission: Admission): Promise<void> {
    const { request, target, object } = admission;
    const { kind: roleKind = '', name: roleName = '' } = (object as RoleBinding).roleRef ?? {};
    // Validation refuses other references.
    if (roleKind !== 'Role' && roleKind !== 'ClusterRole') return;
    const place = { namespace: target.namespace || undefined, name: roleName };
    const resource = roleKind === 'Role' ? 'roles' : 'clusterroles';
    if (await this.#may(request.user, 'bind', resource, place)) return;
    this.index.catchUp();
    await this.index.read([{ roleKind, roleName, namespace: target.namespace }]);
    const granted = this.index.role(roleKind, target.namespace, roleName);
    // As in Kubernetes, the error names the resource of the binding.
    if (!granted) throw notFound(target.kind, roleName);
    await this.#checkHeld(admission, granted.rules);
  }

  async #may(
    user: User,
    verb: string,
    resource: string,
    place: Pick<ResourceAction, 'namespace' | 'name'>,
  ): Promise<boolean> {
    const action = { group: rbacGroup, version: 'v1', resource, subresource: undefined, ...place };
    const decision = await this.authorizer.decide({ user, info: { verb, path: '', resource: action } });
    return decision.allowed;
  }

  async #checkHeld({ request: { user }, target }: Admission, rules: readonly PolicyRule[]): Promise<void> {
    const { kind, namespace, name } = target;
    let missing: PolicyRule[];
    try {
      missing = await this.#missing(user, namespace, rules);
    } catch (error) {
      if (!(error instanceof TooManyPieces)) throw error;
      throw forbidden(kind, name, error.message);
    }
    if (missing.length === 0) return;
    const unresolved = this.rbac.missingRoles(user, namespace || undefined);
    const errors = unresolved.length ? `; resolution errors: [${unresolved.join(' ')}]` : '';
    const lines = await givenInSlices(describePieces(missing));
    throw forbidden(
      kind,
      name,
      `user ${JSON.stringify(user.name)} (groups=${quotedList(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${lines}${errors}`,
    );
  }

  async #missing(user: User, namespace: string, rules: readonly PolicyRule[]): Promise<PolicyRule[]> {
    const owned = await this.rbac.ruleSets(user, namespace || undefined);
    return givenInSlices(uncoveredBy(owned, rules));
  }
}

/** Fields that the server sets; they are ignored when comparing. */
const serverFields = [
  'resourceVersion',
  'uid',
  'creationTimestamp',
  'managedFields',
  'selfLink',
  'generation',
];

/** Whether only finalizers and owners differ: the garbage collector changes these to delete an object. */
function isCollectorsChange(object: ApiObject, old: ApiObject): boolean {
  const rest = (whole: ApiObject): unknown => {
    const { metadata, kind, apiVersion, ...body } = whole as unknown as JsonObject & { metadata: JsonObject };
    const meta = { ...metadata };
    for (const field of ['finalizers', 'ownerReferences', ...serverFields]) delete meta[field];
    return { ...body, metadata: meta };
  };
  return semanticEqual(rest(object), rest(old));
}
