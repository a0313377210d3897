/** Job pods: what a job adds to the pods of its template. */
import type { Container, JobV1, Pod } from '../../api/generated/types.ts';
import { suffixLength } from '../../api/kind/meta.ts';
import { completionIndexKey, indexFailuresKey } from '../shared/indexed-pod.ts';
import { trackingFinalizer } from './job-run.ts';

const indexVariable = 'JOB_COMPLETION_INDEX';
/** Longest name of a pod. */
const nameCharactersMax = 63;

/** The finalizer that keeps a pod until it is counted. */
export function track({ metadata }: Pod): void {
  const { finalizers = [] } = metadata;
  if (!finalizers.includes(trackingFinalizer)) metadata.finalizers = [...finalizers, trackingFinalizer];
}

/** Sets the index of a pod of an Indexed job: in its name, labels, host name and environment variables. */
export function number({ metadata: job, spec = {} }: JobV1, pod: Pod, index: number, failures: number): void {
  const { metadata } = pod;
  const ending = `-${index}-`;
  metadata.generateName = `${(job.name ?? '').slice(0, nameCharactersMax - suffixLength - ending.length)}${ending}`;
  metadata.labels = { ...metadata.labels, [completionIndexKey]: String(index) };
  metadata.annotations = {
    ...metadata.annotations,
    [completionIndexKey]: String(index),
    ...(spec.backoffLimitPerIndex === undefined ? {} : { [indexFailuresKey]: String(failures) }),
  };
  const podSpec = (pod.spec ??= {});
  podSpec.hostname ||= `${job.name}-${index}`;
  for (const container of [...(podSpec.initContainers ?? []), ...(podSpec.containers ?? [])])
    tellIndex(container);
}

function tellIndex(container: Container): void {
  if (container.env?.some(({ name }) => name === indexVariable)) return;
  const fieldPath = `metadata.annotations['${completionIndexKey}']`;
  container.env = [...(container.env ?? []), { name: indexVariable, valueFrom: { fieldRef: { fieldPath } } }];
}
