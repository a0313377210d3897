/**
 * The names of definitions: two kinds of a group may not share one. Plural, singular and short names are one set of
 * names, kind and list kind another. Which names a definition has is written in its status, with conditions.
 */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionStatus,
} from '../../api/generated/types.ts';
import { definitionCondition } from '../../api/kinds/apiextensions/custom-resource-definition.ts';
import { approvalOf, isProtectedGroup } from '../../api/rules/definition/definition.ts';
import { bundleProblem } from '../../api/rules/definition/definition-conversion.ts';
import { withCondition } from '../../api/rules/shared/condition.ts';

/** Names that other kinds of the group have. */
export interface TakenNames {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

type Condition = Omit<CustomResourceDefinitionCondition, 'lastTransitionTime'>;

export function takenNames(others: Iterable<CustomResourceDefinitionNames>): TakenNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { plural, singular, shortNames = [], kind, listKind } of others) {
    for (const name of [plural, singular, ...shortNames]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kinds.add(name);
  }
  return { resources, kinds };
}

/** The status of a definition whose names have been compared with those of the other kinds of its group. */
export function namedStatus(
  definition: CustomResourceDefinition,
  taken: TakenNames,
  now: string,
): CustomResourceDefinitionStatus {
  const { spec = {}, status = {} } = definition;
  const { names: accepted, conflict } = compared(spec.names ?? {}, status.acceptedNames ?? {}, taken);
  const isNew = definitionCondition(definition, 'NamesAccepted')?.status !== 'True';
  const established = definitionCondition(definition, 'Established');
  let { conditions } = status;
  const set = (condition: Condition): void => {
    const before = conditions?.find(({ type }) => type === condition.type);
    const same =
      before?.status === condition.status &&
      before?.reason === condition.reason &&
      before?.message === condition.message;
    if (!same) conditions = withCondition(conditions, condition, now);
  };
  // Approval comes first: Kubernetes decides it in a controller that waits for nothing.
  const approval = approvalCondition(definition);
  if (approval) set(approval);
  set(
    conflict
      ? { type: 'NamesAccepted', status: 'False', ...conflict }
      : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
  );
  if (established?.status !== 'True') {
    if (conflict)
      set({
        type: 'Established',
        status: 'False',
        reason: 'NotAccepted',
        message: 'not all names are accepted',
      });
    else if (isNew || !established)
      set({
        type: 'Established',
        status: 'False',
        reason: 'Installing',
        message: 'the initial names have been accepted',
      });
  }
  return { ...status, conditions, acceptedNames: accepted };
}

function compared(
  wanted: CustomResourceDefinitionNames,
  before: CustomResourceDefinitionNames,
  taken: TakenNames,
): { names: CustomResourceDefinitionNames; conflict?: { reason: string; message: string } } {
  const names: CustomResourceDefinitionNames = { ...before, categories: wanted.categories };
  let conflict: { reason: string; message: string } | undefined;
  const inUse = (name: string): string => `${JSON.stringify(name)} is already in use`;
  // A definition's own names count as taken, too: its singular cannot become its short name.
  const own = takenNames([before]);
  const resources = new Set([...taken.resources, ...own.resources]);
  const kinds = new Set([...taken.kinds, ...own.kinds]);
  const take = (
    name: 'plural' | 'singular' | 'kind' | 'listKind',
    used: ReadonlySet<string>,
    reason: string,
  ): void => {
    const value = wanted[name] ?? '';
    if (value !== before[name] && used.has(value)) conflict = { reason, message: inUse(value) };
    else names[name] = value;
  };
  take('plural', resources, 'PluralConflict');
  take('singular', resources, 'SingularConflict');
  const short = wanted.shortNames ?? [];
  const refused = [...new Set(short)].filter(
    (name) => !before.shortNames?.includes(name) && resources.has(name),
  );
  if (refused.length)
    conflict = {
      reason: 'ShortNamesConflict',
      message: refused.length > 1 ? `[${refused.map(inUse).join(', ')}]` : inUse(refused[0]!),
    };
  else names.shortNames = wanted.shortNames;
  take('kind', kinds, 'KindConflict');
  take('listKind', kinds, 'ListKindConflict');
  return { names, ...(conflict ? { conflict } : {}) };
}

function approvalCondition(definition: CustomResourceDefinition): Condition | undefined {
  if (!isProtectedGroup(definition.spec?.group ?? '')) return undefined;
  const approval = approvalOf(definition);
  return {
    type: 'KubernetesAPIApprovalPolicyConformant',
    status: approval.reason === 'ApprovedAnnotation' ? 'True' : 'False',
    ...approval,
  };
}

/** The condition of a definition whose kinds are about to be served. */
export function establishedCondition({ spec }: CustomResourceDefinition): Condition {
  const { strategy, webhook } = spec?.conversion ?? {};
  if (strategy === 'Webhook' && bundleProblem(webhook?.clientConfig?.caBundle))
    return {
      type: 'Established',
      status: 'False',
      reason: 'InvalidCABundle',
      message: 'The conversion webhook CABundle is invalid',
    };
  return {
    type: 'Established',
    status: 'True',
    reason: 'InitialNamesAccepted',
    message: 'the initial names have been accepted',
  };
}
