/**
 * Bootstrap: ensures at the start that the default roles and bindings exist with everything they grant by default.
 * Additions of users stay, and objects with an annotation that says so are left alone.
 */
import type { ClusterRole, RoleBinding, Subject } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { rbacGroup } from '../../api/rules/access/rbac.ts';
import { type ApiObject, semanticEqual } from '../../api/text/object.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { actingAs } from '../../registry/writers.ts';
import type { Writing } from '../../registry/writing.ts';
import { defaultBindings, defaultRoles } from './bootstrap-policy.ts';
import { uncovered } from './coverage.ts';

const autoUpdate = 'rbac.authorization.kubernetes.io/autoupdate';

/** Writes all missing objects at once, so that they share a few commits. */
export async function ensureDefaultPolicy(writing: Writing): Promise<void> {
  const kindOf = (resource: string): Kind => writing.registry.kinds.resource(`${rbacGroup}/v1`, resource)!;
  const ensure = (cluster: Kind, namespaced: Kind, object: ApiObject, complete: Complete): Promise<void> =>
    ensureObject(writing, object.metadata.namespace ? namespaced : cluster, object, complete);
  const [clusterRoles, roles] = [kindOf('clusterroles'), kindOf('roles')];
  const [clusterBindings, bindings] = [kindOf('clusterrolebindings'), kindOf('rolebindings')];
  await Promise.all([
    ...defaultRoles().map((role) => ensure(clusterRoles, roles, role, completeRole)),
    ...defaultBindings().map((binding) => ensure(clusterBindings, bindings, binding, completeBinding)),
  ]);
}

/** Adds the defaults to an object; undefined when it must be created anew. */
type Complete = (existing: ApiObject, wanted: ApiObject) => ApiObject | undefined;

async function ensureObject(
  writing: Writing,
  kind: Kind,
  wanted: ApiObject,
  complete: Complete,
): Promise<void> {
  const { name = '', namespace = '' } = wanted.metadata;
  const entry = writing.registry.view.collection(kind).get(namespace, name);
  const collection = collectionOf(kind, namespace);
  if (!entry)
    return void (await writing.registry.seed(actingAs('kube-apiserver', 'create'), collection, wanted));
  if (isComplete(entry, wanted, complete)) return;
  if (complete(entry.object(), wanted)) {
    const change = (current: Entry): ApiObject => complete(current.object(), wanted) ?? current.object();
    await modify(writing, actingAs('kube-apiserver', 'update'), targetOf(entry), change);
    return;
  }
  await remove(writing, actingAs('kube-apiserver', 'delete'), targetOf(entry), {});
  await writing.registry.seed(actingAs('kube-apiserver', 'create'), collection, wanted);
}

/**
 * Whether an object is complete. At nearly every start it is unchanged, which a search of its text shows without
 * parsing.
 */
function isComplete(entry: Entry, wanted: ApiObject, complete: Complete): boolean {
  if (textsOf(wanted).every((text) => entry.document.includes(text))) return true;
  const existing = entry.peek();
  if (existing.metadata.annotations?.[autoUpdate] === 'false') return true;
  return semanticEqual(existing, complete(existing, wanted));
}

/** Texts that a complete object contains: lists as a whole, labels and annotations one by one. */
function textsOf(wanted: ApiObject): string[] {
  const { metadata, ...body } = wanted;
  const pairs = [...Object.entries(body), ...Object.entries({ ...metadata.labels, ...metadata.annotations })];
  return pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
}

const withMetadata = <T extends ApiObject>(existing: T, { metadata }: ApiObject): T => ({
  ...existing,
  metadata: {
    ...existing.metadata,
    labels: { ...metadata.labels, ...existing.metadata.labels },
    annotations: { ...metadata.annotations, ...existing.metadata.annotations },
  },
});

const completeRole: Complete = (existing, wanted) => {
  const role = withMetadata(existing as ClusterRole, wanted);
  const { rules: wantedRules = [], aggregationRule } = wanted as ClusterRole;
  const missing = wantedRules.filter((rule) => uncovered(role.rules ?? [], [rule]).length);
  const selectors = role.aggregationRule?.clusterRoleSelectors ?? [];
  const missingSelectors = (aggregationRule?.clusterRoleSelectors ?? []).filter(
    (selector) => !selectors.some((one) => semanticEqual(one, selector)),
  );
  if (missing.length) role.rules = [...(role.rules ?? []), ...missing];
  if (missingSelectors.length)
    role.aggregationRule = { clusterRoleSelectors: [...selectors, ...missingSelectors] };
  return role;
};

const completeBinding: Complete = (existing, wanted) => {
  const { roleRef, subjects: wantedSubjects = [] } = wanted as RoleBinding;
  if (!semanticEqual((existing as RoleBinding).roleRef, roleRef)) return undefined;
  const binding = withMetadata(existing as RoleBinding, wanted);
  const isThere = (subject: Subject): boolean =>
    binding.subjects?.some((one) => semanticEqual(one, subject)) ?? false;
  const missing = wantedSubjects.filter((subject) => !isThere(subject));
  if (missing.length) binding.subjects = [...(binding.subjects ?? []), ...missing];
  return binding;
};
