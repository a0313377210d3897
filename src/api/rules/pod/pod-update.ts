import { child, forbidden, index, invalid } from '../../errors/field-error.ts';
import type { Container, NodeAffinity, NodeSelectorTerm, Pod, PodSpec } from '../../generated/types.ts';
import { modelOf } from '../../model/model.ts';
import { changedFields } from '../shared/change.ts';
import { type Findings, rangeText } from '../shared/findings.ts';
import { podAnnotationChangeErrors } from './pod-annotations.ts';
import { tolerationChangeErrors } from './toleration.ts';

const deadlineSecondsMax = 2 ** 31 - 1;
const onlyAdditions = 'only additions are allowed (no mutations or deletions)';
const changeable =
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

const specModel = () => modelOf('PodSpec', 'core-v1');

/** The generation increases with every change of the spec. */
export const keepsSpec = ({ metadata }: Pod, old: Pod): boolean =>
  metadata.generation === old.metadata.generation;

export function* podUpdateErrors(pod: Pod, old: Pod): Findings {
  const spec = pod.spec ?? {};
  const oldSpec = old.spec ?? {};
  yield* podAnnotationChangeErrors(
    pod.metadata.annotations,
    old.metadata.annotations,
    'metadata.annotations',
  );
  if (keepsSpec(pod, old)) return;
  for (const list of ['containers', 'initContainers'] as const)
    if ((spec[list]?.length ?? 0) !== (oldSpec[list]?.length ?? 0))
      return yield forbidden(`spec.${list}`, 'pod updates may not add or remove containers');
  const deadline = deadlineProblem(spec.activeDeadlineSeconds, oldSpec.activeDeadlineSeconds);
  if (deadline)
    return yield invalid('spec.activeDeadlineSeconds', spec.activeDeadlineSeconds ?? null, deadline);
  yield* tolerationChangeErrors(spec.tolerations, oldSpec.tolerations, 'spec.tolerations');
  yield* gateChangeErrors(spec, oldSpec);
  const rest = withoutAllowedChanges(spec, oldSpec);
  if (oldSpec.schedulingGates?.length) yield* gatedChangeErrors(rest, oldSpec);
  const changed = changedFields(specModel(), rest, oldSpec);
  if (changed.length)
    yield forbidden(
      'spec',
      `pod updates may not change fields other than ${changeable}\n${changed.map((name) => `spec.${name}`).join('\n')}`,
    );
}

function deadlineProblem(now: number | undefined, before: number | undefined): string {
  if (now === undefined)
    return before === undefined ? '' : 'must not update from a positive integer to nil value';
  if (now < 0 || now > deadlineSecondsMax) return rangeText(0, deadlineSecondsMax);
  return before !== undefined && now > before ? 'must be less than or equal to previous value' : '';
}

function* gateChangeErrors(spec: PodSpec, old: PodSpec): Findings {
  const gates = new Set((old.schedulingGates ?? []).map((gate) => gate.name ?? ''));
  for (const [i, { name = '' }] of (spec.schedulingGates ?? []).entries())
    if (!gates.has(name))
      yield forbidden(
        child(index('spec.schedulingGates', i), 'name'),
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      );
}

/** The new spec with the mutable fields restored to their old values; any remaining difference is refused. */
function withoutAllowedChanges(spec: PodSpec, old: PodSpec): PodSpec {
  const rest: PodSpec = {
    ...spec,
    containers: withImagesOf(spec.containers, old.containers),
    initContainers: withImagesOf(spec.initContainers, old.initContainers),
    activeDeadlineSeconds: old.activeDeadlineSeconds,
    tolerations: old.tolerations,
    schedulingGates: old.schedulingGates,
  };
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && rest.terminationGracePeriodSeconds === 1)
    rest.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds;
  return rest;
}

const withImagesOf = (
  containers: readonly Container[] | undefined,
  old: readonly Container[] | undefined,
): Container[] | undefined => containers?.map((container, i) => ({ ...container, image: old?.[i]?.image }));

/**
 * While scheduling gates are present, node selection may become narrower. Restores the checked fields to their old
 * values.
 */
function* gatedChangeErrors(spec: PodSpec, old: PodSpec): Findings {
  const selector = spec.nodeSelector ?? {};
  const kept = ([name, value]: [string, string]) => Object.hasOwn(selector, name) && selector[name] === value;
  if (!Object.entries(old.nodeSelector ?? {}).every(kept))
    yield invalid('spec.nodeSelector', selector, onlyAdditions);
  spec.nodeSelector = old.nodeSelector;
  const before = old.affinity?.nodeAffinity;
  yield* nodeAffinityChangeErrors(spec.affinity?.nodeAffinity, before);
  const affinity = { ...spec.affinity, nodeAffinity: before };
  const empty = !affinity.nodeAffinity && !affinity.podAffinity && !affinity.podAntiAffinity;
  spec.affinity = empty ? old.affinity : affinity;
}

function* nodeAffinityChangeErrors(
  now: NodeAffinity | undefined,
  before: NodeAffinity | undefined,
): Findings {
  const path = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const terms = requiredTerms(now);
  const oldTerms = requiredTerms(before);
  if (oldTerms.length === 0) return;
  if (terms.length !== oldTerms.length)
    return yield invalid(
      path,
      terms,
      'no additions/deletions to non-empty NodeSelectorTerms list are allowed',
    );
  for (const [i, term] of terms.entries())
    if (!isNarrower(term, oldTerms[i]!)) yield invalid(index(path, i), term, onlyAdditions);
}

const requiredTerms = (affinity: NodeAffinity | undefined): NodeSelectorTerm[] =>
  affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];

/** Requirements of a term are ANDed, so more of them select fewer nodes. An empty term selects nothing. */
function isNarrower(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const lists = ['matchExpressions', 'matchFields'] as const;
  if (lists.every((list) => !old[list]?.length)) return lists.every((list) => !term[list]?.length);
  return lists.every((list) => {
    const now = new Set((term[list] ?? []).map(requirementText));
    return (old[list] ?? []).every((requirement) => now.has(requirementText(requirement)));
  });
}

const requirementText = ({ key, operator, values }: { key?: string; operator?: string; values?: string[] }) =>
  JSON.stringify([key ?? '', operator ?? '', values ?? []]);
