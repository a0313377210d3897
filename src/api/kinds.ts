/** The list of kinds. Adding one: its file in `kinds/`, and a line here. */
import type { Kind } from './kind.ts';
import { autoscalingV1 } from './kinds/autoscalingv1.ts';
import { autoscalingV2 } from './kinds/autoscalingv2.ts';
import { batchJob } from './kinds/batchjob.ts';
import { clusterRole } from './kinds/clusterrole.ts';
import { clusterRoleBinding } from './kinds/clusterrolebinding.ts';
import { configMap } from './kinds/configmap.ts';
import { controllerRevision } from './kinds/controllerrevision.ts';
import { cronJob } from './kinds/cronjob.ts';
import { cronJobV1beta1 } from './kinds/cronjobv1beta1.ts';
import { daemonSet } from './kinds/daemonset.ts';
import { deployment } from './kinds/deployment.ts';
import { endpoints } from './kinds/endpoints.ts';
import { event } from './kinds/event.ts';
import { eventsEvent } from './kinds/eventsevent.ts';
import { horizontalPodAutoscaler } from './kinds/horizontalpodautoscaler.ts';
import { ingress } from './kinds/ingress.ts';
import { job } from './kinds/job.ts';
import { lease } from './kinds/lease.ts';
import { limitRange } from './kinds/limitrange.ts';
import { namespace } from './kinds/namespace.ts';
import { networkingIngress } from './kinds/networkingingress.ts';
import { node } from './kinds/node.ts';
import { persistentVolume } from './kinds/persistentvolume.ts';
import { persistentVolumeClaim } from './kinds/persistentvolumeclaim.ts';
import { pod } from './kinds/pod.ts';
import { podDisruptionBudget } from './kinds/poddisruptionbudget.ts';
import { podTemplate } from './kinds/podtemplate.ts';
import { policyV1beta1 } from './kinds/policyv1beta1.ts';
import { priorityClass } from './kinds/priorityclass.ts';
import { replicaSet } from './kinds/replicaset.ts';
import { replicationController } from './kinds/replicationcontroller.ts';
import { resourceQuota } from './kinds/resourcequota.ts';
import { role } from './kinds/role.ts';
import { roleBinding } from './kinds/rolebinding.ts';
import { secret } from './kinds/secret.ts';
import { service } from './kinds/service.ts';
import { serviceAccount } from './kinds/serviceaccount.ts';
import { statefulSet } from './kinds/statefulset.ts';

export const builtinKinds: readonly Kind[] = [
  configMap,
  endpoints,
  event,
  limitRange,
  namespace,
  node,
  persistentVolume,
  persistentVolumeClaim,
  pod,
  podTemplate,
  replicationController,
  resourceQuota,
  secret,
  service,
  serviceAccount,
  // Clients prefer the group and the version that come first; extensions is the oldest home of its kinds.
  controllerRevision,
  daemonSet,
  deployment,
  replicaSet,
  statefulSet,
  eventsEvent,
  autoscalingV2,
  autoscalingV1,
  batchJob,
  cronJob,
  cronJobV1beta1,
  networkingIngress,
  lease,
  podDisruptionBudget,
  policyV1beta1,
  priorityClass,
  clusterRole,
  clusterRoleBinding,
  role,
  roleBinding,
  horizontalPodAutoscaler,
  ingress,
  job,
];

/** The kinds a server knows. It can grow while the server runs. */
export class KindTable {
  /** By version, then by name: `v1` and `pods`, `v1` and `Pod`. */
  readonly #byResource = new Map<string, Map<string, Kind>>();
  readonly #byKind = new Map<string, Map<string, Kind>>();
  readonly #all: Kind[] = [];

  constructor(kinds: readonly Kind[] = builtinKinds) {
    for (const kind of kinds) this.add(kind);
  }

  add(kind: Kind): void {
    this.#all.push(kind);
    named(this.#byResource, kind.apiVersion).set(kind.resource, kind);
    named(this.#byKind, kind.apiVersion).set(kind.kind, kind);
  }

  /** By `v1` and `pods`. */
  resource(apiVersion: string, resource: string): Kind | undefined {
    return this.#byResource.get(apiVersion)?.get(resource);
  }

  /** By `v1` and `Pod`. */
  kind(apiVersion: string, kind: string): Kind | undefined {
    return this.#byKind.get(apiVersion)?.get(kind);
  }

  /** The kinds whose objects are in the store, each once however many versions of it are served. */
  *stored(): Iterable<Kind> {
    for (const kind of this) if (kind.storage === kind) yield kind;
  }

  [Symbol.iterator](): IterableIterator<Kind> {
    return this.#all.values();
  }
}

function named(versions: Map<string, Map<string, Kind>>, apiVersion: string): Map<string, Kind> {
  let names = versions.get(apiVersion);
  if (!names) {
    names = new Map();
    versions.set(apiVersion, names);
  }
  return names;
}
