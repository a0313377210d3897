/** Affinity: rules for node affinity, pod affinity and anti-affinity, and topology spread constraints. */
import {
  child,
  duplicate,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type {
  Affinity,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  TopologySpreadConstraint,
} from '../../generated/types.ts';
import { type LabelSelectorObject, validateLabelSelectorObject } from '../../kind/label-selector.ts';
import { isLabel1123, isLabelValue, isQualifiedName, isSubdomain1123 } from '../../values/names.ts';
import { choice, type Findings, problemsOf } from '../shared/findings.ts';

const weightMax = 100;
const actions = ['DoNotSchedule', 'ScheduleAnyway'];
const inclusions = ['Honor', 'Ignore'];

const requiredTerms = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferredTerms = 'preferredDuringSchedulingIgnoredDuringExecution';

export function* affinityErrors(affinity: Affinity | undefined, path: string): Findings {
  const nodes = affinity?.nodeAffinity;
  const nodesPath = child(path, 'nodeAffinity');
  if (nodes?.[requiredTerms])
    yield* nodeSelectorErrors(nodes[requiredTerms].nodeSelectorTerms, child(nodesPath, requiredTerms));
  for (const [i, { weight, preference }] of (nodes?.[preferredTerms] ?? []).entries()) {
    const entry = index(child(nodesPath, preferredTerms), i);
    yield* weightErrors(weight, entry);
    yield* nodeTermErrors(preference ?? {}, child(entry, 'preference'));
  }
  for (const name of ['podAffinity', 'podAntiAffinity'] as const)
    if (affinity?.[name]) yield* podAffinityErrors(affinity[name], child(path, name));
}

export function* nodeSelectorErrors(terms: readonly NodeSelectorTerm[] | undefined, path: string): Findings {
  const termsPath = child(path, 'nodeSelectorTerms');
  if (!terms?.length) yield required(termsPath, 'must have at least one node selector term');
  for (const [i, term] of (terms ?? []).entries()) yield* nodeTermErrors(term, index(termsPath, i));
}

function* nodeTermErrors(term: NodeSelectorTerm, path: string): Findings {
  for (const [i, requirement] of (term.matchExpressions ?? []).entries())
    yield* nodeLabelErrors(requirement, index(child(path, 'matchExpressions'), i));
  for (const [i, requirement] of (term.matchFields ?? []).entries())
    yield* nodeFieldErrors(requirement, index(child(path, 'matchFields'), i));
}

function* nodeLabelErrors(requirement: NodeSelectorRequirement, path: string): Findings {
  const { key = '', operator = '', values = [] } = requirement;
  const valuesPath = child(path, 'values');
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (!values.length) yield required(valuesPath, "must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length)
        yield forbidden(valuesPath, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1)
        yield required(valuesPath, "must be specified single value when `operator` is 'Lt' or 'Gt'");
      break;
    default:
      yield invalid(child(path, 'operator'), operator, 'not a valid selector operator');
  }
  yield* problemsOf(child(path, 'key'), key, isQualifiedName(key));
  for (const [i, value] of values.entries())
    yield* problemsOf(index(valuesPath, i), value, isLabelValue(value));
}

/** Node fields can be matched, too, but only `metadata.name` is supported. */
function* nodeFieldErrors(requirement: NodeSelectorRequirement, path: string): Findings {
  const { key = '', operator = '', values = [] } = requirement;
  const valuesPath = child(path, 'values');
  if (operator !== 'In' && operator !== 'NotIn')
    yield invalid(child(path, 'operator'), operator, 'not a valid selector operator');
  else if (values.length !== 1)
    yield required(
      valuesPath,
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
    );
  if (key !== 'metadata.name')
    return yield invalid(child(path, 'key'), key, 'not a valid field selector key');
  for (const [i, value] of values.entries())
    yield* problemsOf(index(valuesPath, i), value, isSubdomain1123(value));
}

function* podAffinityErrors(affinity: PodAffinity, path: string): Findings {
  for (const [i, term] of (affinity[requiredTerms] ?? []).entries())
    yield* podTermErrors(term, index(child(path, requiredTerms), i));
  for (const [i, { weight, podAffinityTerm }] of (affinity[preferredTerms] ?? []).entries()) {
    const entry = index(child(path, preferredTerms), i);
    yield* weightErrors(weight, entry);
    yield* podTermErrors(podAffinityTerm ?? {}, child(entry, 'podAffinityTerm'));
  }
}

function* podTermErrors(term: PodAffinityTerm, path: string): Findings {
  const { topologyKey = '' } = term;
  yield* labelSelectorErrors(term.labelSelector, child(path, 'labelSelector'));
  yield* labelSelectorErrors(term.namespaceSelector, child(path, 'namespaceSelector'));
  for (const name of term.namespaces ?? [])
    yield* problemsOf(child(path, 'namespace'), name, isLabel1123(name));
  if (!topologyKey) yield required(child(path, 'topologyKey'), 'can not be empty');
  yield* problemsOf(child(path, 'topologyKey'), topologyKey, isQualifiedName(topologyKey));
}

function* weightErrors(weight = 0, path: string): Findings {
  if (weight < 1 || weight > weightMax)
    yield invalid(child(path, 'weight'), weight, 'must be in the range 1-100');
}

const labelSelectorErrors = (selector: PodAffinityTerm['labelSelector'], path: string) =>
  validateLabelSelectorObject(selector as LabelSelectorObject | undefined, path);

export function* spreadErrors(
  constraints: readonly TopologySpreadConstraint[] | undefined,
  path: string,
): Findings {
  const repeats = repeatedPairs(constraints ?? []);
  for (const [i, constraint] of (constraints ?? []).entries()) {
    const { maxSkew = 0, topologyKey = '', whenUnsatisfiable, minDomains } = constraint;
    const entry = index(path, i);
    if (maxSkew <= 0) yield invalid(child(entry, 'maxSkew'), maxSkew, 'must be greater than zero');
    if (!topologyKey) yield required(child(entry, 'topologyKey'), 'can not be empty');
    if (!actions.includes(whenUnsatisfiable ?? ''))
      yield notSupported(child(entry, 'whenUnsatisfiable'), whenUnsatisfiable ?? '', actions);
    if (repeats.has(i)) yield duplicate(child(entry, '{topologyKey, whenUnsatisfiable}'), pairOf(constraint));
    if (minDomains !== undefined && minDomains <= 0)
      yield invalid(child(entry, 'minDomains'), minDomains, 'must be greater than zero');
    if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule')
      yield invalid(
        child(entry, 'minDomains'),
        minDomains,
        'can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
      );
    for (const name of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const)
      if (constraint[name] !== undefined) yield* choice(child(entry, name), constraint[name], inclusions);
    yield* labelSelectorErrors(constraint.labelSelector, child(entry, 'labelSelector'));
  }
}

const pairOf = ({ topologyKey = '', whenUnsatisfiable = '' }: TopologySpreadConstraint): string =>
  `{${topologyKey}, ${whenUnsatisfiable}}`;

/** Indexes of constraints that are repeated later; the error is reported at the earlier one, as in Kubernetes. */
function repeatedPairs(constraints: readonly TopologySpreadConstraint[]): Set<number> {
  const later = new Set<string>();
  const repeats = new Set<number>();
  for (let i = constraints.length - 1; i >= 0; i--) {
    const pair = pairOf(constraints[i]!);
    if (later.has(pair)) repeats.add(i);
    later.add(pair);
  }
  return repeats;
}
