/**
 * NodeRestriction: a node may change its own objects and those of the pods bound to it, and gets tokens for these pods
 * only. Nodes are recognised by user name and group; other users are not checked.
 */
import { forbidden, notFound } from '../../api/errors/errors.ts';
import type {
  CertificateSigningRequest,
  Node,
  Pod,
  TokenRequest,
  Volume,
} from '../../api/generated/types.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import { mirrorAnnotation, podReferences, tokenAudiences } from '../../api/rules/pod/pod-references.ts';
import { semanticEqual } from '../../api/text/object.ts';
import {
  kubeletServingSigner,
  nodeOf,
  nodeUserPrefix,
  servingAddressesAnnotation,
} from '../../api/values/node-identity.ts';
import type { Admission, AdmissionPlugin } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import { requestIn, signingRequestId } from './signing-requests.ts';

const leaseNamespace = 'kube-node-lease';

/** The context of a check besides the write itself. */
interface Scene {
  readonly registry: Registry;
  readonly authorizer: Authorizer;
}

/** Returns why a write is refused, or undefined. There is one check for each kind that nodes write. */
type Check = (
  scene: Scene,
  node: string,
  admission: Admission,
) => string | undefined | Promise<string | undefined>;

const checks: Readonly<Record<string, Check>> = {
  'core/nodes': checkNode,
  'core/pods': checkPod,
  'core/serviceaccounts': checkAccount,
  'core/persistentvolumeclaims': (_scene, _node, { target: { part } }) =>
    part === 'status' ? undefined : 'may only update PVC status',
  'coordination.k8s.io/leases': (_scene, node, { target: { namespace, name } }) => {
    if (namespace !== leaseNamespace)
      return `can only access leases in the "${leaseNamespace}" system namespace`;
    return name === node ? undefined : 'can only access node lease with the same name as the requesting node';
  },
  [signingRequestId]: checkSigningRequest,
  'storage.k8s.io/csinodes': (_scene, node, { target: { name } }) =>
    name === node ? undefined : 'can only access CSINode with the same name as the requesting node',
};

function check(scene: Scene, admission: Admission): void | Promise<void> {
  const { request, target } = admission;
  // Fast path: few users are nodes, and comparing a name is faster than searching groups.
  if (!request.user.name.startsWith(nodeUserPrefix)) return;
  const node = nodeOf(request.user);
  const refusal = node === undefined ? undefined : checks[target.kind.id]?.(scene, node, admission);
  if (refusal === undefined) return;
  const refuse = (why: string | undefined): void => {
    if (why !== undefined) throw forbidden(target.kind, target.name, why);
  };
  if (refusal instanceof Promise) return refusal.then(refuse);
  refuse(refusal);
}

export const nodeRestriction = (scene: Scene): AdmissionPlugin => ({
  name: 'NodeRestriction',

  mutate: (_registry, admission) => check(scene, admission),

  connect(_registry, admission) {
    if (admission.operation !== 'connect') return check(scene, admission);
  },

  validate(_registry, admission) {
    // Creates and updates were checked in `mutate`, before other plugins changed them.
    if (admission.operation === 'delete') return check(scene, admission);
  },
});

/** Signers whose certificates identify nodes. */
const nodeSigners: readonly string[] = ['kubernetes.io/kube-apiserver-client-kubelet', kubeletServingSigner];

function checkSigningRequest(
  _scene: Scene,
  node: string,
  { operation, object }: Admission,
): string | undefined {
  const request = object as CertificateSigningRequest;
  if (operation !== 'create' || !nodeSigners.includes(request.spec?.signerName ?? '')) return undefined;
  const own = `${nodeUserPrefix}${node}`;
  try {
    if (requestIn(request).read.commonName === own) return undefined;
  } catch (error) {
    return `unable to parse csr: ${(error as Error).message}`;
  }
  return `can only create a node CSR with CN=${own}`;
}

// Nodes

/** Why the change is refused: with this annotation an administrator decides what the node's certificate may contain. */
const listedText = `is not allowed to modify the annotation ${JSON.stringify(servingAddressesAnnotation)}`;

function checkNode(_scene: Scene, node: string, admission: Admission): string | undefined {
  const { operation, target, object, old } = admission;
  const me = `node ${JSON.stringify(node)}`;
  if (target.name !== node) return `${me} is not allowed to modify node ${JSON.stringify(target.name)}`;
  if (operation === 'delete') return undefined;
  const now = object as Node;
  if (operation === 'create') {
    if (now.spec?.configSource) return `${me} is not allowed to create pods with a non-nil configSource`;
    const forbiddenLabels = forbiddenChanges(now.metadata.labels, undefined);
    if (forbiddenLabels) return `${me} is not allowed to set the following labels: ${forbiddenLabels}`;
    return now.metadata.annotations?.[servingAddressesAnnotation] === undefined
      ? undefined
      : `${me} ${listedText}`;
  }
  const before = old as Node;
  const source = now.spec?.configSource;
  if (source && !semanticEqual(source, before.spec?.configSource))
    return `${me} is not allowed to update configSource to a new non-nil configSource`;
  if (!semanticEqual(now.spec?.taints ?? [], before.spec?.taints ?? []))
    return `${me} is not allowed to modify taints`;
  const changedLabels = forbiddenChanges(now.metadata.labels, before.metadata.labels);
  if (changedLabels) return `is not allowed to modify labels: ${changedLabels}`;
  if (!semanticEqual(now.metadata.ownerReferences ?? [], before.metadata.ownerReferences ?? []))
    return `${me} is not allowed to modify ownerReferences`;
  const listed = ({ metadata }: Node): string | undefined =>
    metadata.annotations?.[servingAddressesAnnotation];
  return listed(now) === listed(before) ? undefined : `${me} ${listedText}`;
}

type Labels = Readonly<Record<string, string>> | undefined;

/** Labels that differ and that the node may not change, sorted; undefined without such labels. */
function forbiddenChanges(now: Labels = {}, before: Labels = {}): string | undefined {
  const changed = Object.keys({ ...now, ...before }).filter((key) => now[key] !== before[key]);
  return changed.filter(isForbiddenLabel).sort().join(', ') || undefined;
}

const ownLabels = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'node.kubernetes.io/instance-type',
]);

function isForbiddenLabel(label: string): boolean {
  const slash = label.indexOf('/');
  const domain = slash < 0 ? '' : label.slice(0, slash);
  const isUnder = (parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);
  if (isUnder('node-restriction.kubernetes.io')) return true;
  if (!isUnder('kubernetes.io') && !isUnder('k8s.io')) return false;
  return !ownLabels.has(label) && !isUnder('kubelet.kubernetes.io') && !isUnder('node.kubernetes.io');
}

// Pods

function checkPod({ registry }: Scene, node: string, admission: Admission): string | undefined {
  const { operation, target, object, old } = admission;
  const me = `node ${JSON.stringify(node)}`;
  const isOwn = (pod: Pod): boolean => pod.spec?.nodeName === node;
  switch (target.part) {
    case 'status': {
      const before = old as Pod;
      if (!isOwn(before)) return `${me} can only update pod status for pods with spec.nodeName set to itself`;
      return semanticEqual(object!.metadata.labels ?? {}, before.metadata.labels ?? {})
        ? undefined
        : `${me} cannot update labels through pod status`;
    }
    case 'eviction':
      return isOwn(registry.find(target).peek() as Pod)
        ? undefined
        : `node ${node} can only evict pods with spec.nodeName set to itself`;
    case 'main':
      if (operation === 'create') return mirrorProblem(registry, node, object as Pod);
      if (operation === 'delete')
        return isOwn(old as Pod) ? undefined : `${me} can only delete pods with spec.nodeName set to itself`;
      return `unexpected operation "UPDATE", ${me} can only create and delete mirror pods`;
    default:
      return `unexpected pod subresource ${JSON.stringify(target.part)}, only 'status' and 'eviction' are allowed`;
  }
}

/** Why a node may not create a pod: it may only create mirror pods, which show the static pods that it runs. */
function mirrorProblem(registry: Registry, node: string, { metadata, spec = {} }: Pod): string | undefined {
  const me = `node ${JSON.stringify(node)}`;
  if (metadata.annotations?.[mirrorAnnotation] === undefined)
    return `pod does not have "${mirrorAnnotation}" annotation, ${me} can only create mirror pods`;
  if (spec.nodeName !== node) return `${me} can only create pods with spec.nodeName set to itself`;
  const [owner, second] = metadata.ownerReferences ?? [];
  if (second) return `${me} can only create pods with a single owner reference set to itself`;
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return `${me} can only create pods with an owner reference set to itself`;
  if (!owner.controller) return `${me} can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion) return `${me} must not set blockOwnerDeletion on an owner reference`;
  const nodes = registry.kinds.resource('v1', 'nodes')!;
  const { uid } = registry.find({ kind: nodes, namespace: '', name: node }).peek().metadata;
  if (owner.uid !== uid) return `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
  const named = podReferences(metadata.name ?? '', spec);
  const reference =
    ((spec.serviceAccountName || spec.serviceAccount) && 'a service account') ||
    (named.secrets.length && 'secrets') ||
    (named.configMaps.length && 'configmaps') ||
    (named.claims.length && 'persistentvolumeclaims') ||
    (spec.resourceClaims?.length && 'resourceclaims') ||
    spec.volumes?.map(volumeReference).find(Boolean);
  return reference ? `${me} can not create pods that reference ${reference}` : undefined;
}

/** Objects of the API that a volume needs beside secrets, config maps and claims. */
function volumeReference({ csi, glusterfs, projected }: Volume): string | undefined {
  if (csi) return 'csidrivers (via CSI volumes)';
  if (glusterfs) return 'endpoints (via glusterFS volumes)';
  for (const { clusterTrustBundle, podCertificate, serviceAccountToken } of projected?.sources ?? []) {
    if (serviceAccountToken) return 'serviceaccounts (via projected volumes)';
    if (clusterTrustBundle) return 'clustertrustbundles';
    if (podCertificate) return 'podcertificates';
  }
  return undefined;
}

// Tokens

function checkAccount(
  { registry, authorizer }: Scene,
  node: string,
  admission: Admission,
): string | undefined | Promise<string | undefined> {
  const { target, object, request } = admission;
  if (target.part !== 'token') return undefined;
  const { boundObjectRef: bound, audiences = [] } = (object as TokenRequest).spec ?? {};
  if (bound?.apiVersion !== 'v1' || bound.kind !== 'Pod' || !bound.name)
    return 'node requested token not bound to a pod';
  if (!bound.uid) return 'node requested token with a pod binding without a uid';
  const pods = registry.kinds.resource('v1', 'pods')!;
  const entry = registry.view.collection(pods).get(target.namespace, bound.name);
  if (!entry) throw notFound(pods, bound.name);
  const { metadata, spec = {} } = entry.peek() as Pod;
  if (bound.uid !== metadata.uid)
    return `the UID in the bound object reference (${bound.uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  if (spec.nodeName !== node) return 'node requested token bound to a pod scheduled on a different node';
  if (audiences.length > 1) return 'node may only request 0 or 1 audiences';
  const audience = audiences[0] ?? '';
  if (tokenAudiences(spec).includes(audience)) return undefined;
  const refusal = `audience ${JSON.stringify(audience)} not found in pod spec volume, ${request.user.name} is not authorized to request tokens for this audience`;
  const decision = authorizer.decide({
    user: request.user,
    info: {
      verb: 'request-serviceaccounts-token-audience',
      path: '',
      resource: {
        group: '',
        version: '',
        resource: audience,
        subresource: undefined,
        namespace: target.namespace,
        name: target.name,
      },
    },
  });
  return decision instanceof Promise
    ? decision.then(({ allowed }) => (allowed ? undefined : refusal))
    : decision.allowed
      ? undefined
      : refusal;
}
