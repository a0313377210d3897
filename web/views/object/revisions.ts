/** Revisions of a workload: deployments keep former templates as replica sets, the others as controller revisions. */
import type { ApiObject, Json } from '../../core/objects.ts';

export interface Revision {
  readonly number: number;
  readonly images: string;
  readonly template: Json;
  readonly created: string | undefined;
  /** The pods of the revision, where it is a replica set. */
  readonly pods?: { readonly wanted: number; readonly ready: number };
  readonly patch: Json;
  readonly contentType: string;
}

/** The kind that keeps the revisions of a kind of workload; undefined when it has none. */
export const keeperOf = (id: string): string | undefined => keepers[id];

const keepers: Readonly<Record<string, string>> = {
  'deployments.apps': 'replicasets.apps',
  'statefulsets.apps': 'controllerrevisions.apps',
  'daemonsets.apps': 'controllerrevisions.apps',
};

/** The newest first, from a list of what keeps them. */
export const revisionsFrom = (items: readonly ApiObject[], { metadata }: ApiObject): readonly Revision[] =>
  items
    .filter((item) => item.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid))
    .map((item) => (item.data ? fromControllerRevision(item) : fromReplicaSet(item)))
    .toSorted((a, b) => b.number - a.number);

const imagesOf = (template: Json): string =>
  (template?.spec?.containers ?? []).map(({ image }: Json) => image).join(', ');

function fromReplicaSet({ metadata, spec, status }: ApiObject): Revision {
  const template = structuredClone(spec.template);
  delete template.metadata?.labels?.['pod-template-hash'];
  return {
    number: Number(metadata.annotations?.['deployment.kubernetes.io/revision'] ?? 0),
    images: imagesOf(template),
    template,
    created: metadata.creationTimestamp,
    pods: { wanted: spec.replicas ?? 0, ready: status?.readyReplicas ?? 0 },
    patch: [{ op: 'replace', path: '/spec/template', value: template }],
    contentType: 'application/json-patch+json',
  };
}

const fromControllerRevision = ({ metadata, revision, data }: ApiObject): Revision => ({
  number: Number(revision),
  images: imagesOf(data?.spec?.template),
  template: data?.spec?.template,
  created: metadata.creationTimestamp,
  patch: data,
  contentType: 'application/strategic-merge-patch+json',
});
