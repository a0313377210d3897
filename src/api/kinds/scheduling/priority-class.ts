/** PriorityClass: a named priority. Pods refer to the name, and admission sets the number. */
import { type FieldError, forbidden, invalid, notSupported } from '../../errors/field-error.ts';
import type { PriorityClass } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';

/** Higher values are for system pods. */
const valueMax = 1_000_000_000;
const systemPrefix = 'system-';
const policies = ['Never', 'PreemptLowerPriority'];

/** The system classes. They can only be created exactly like this, and not be changed. */
export const systemClasses: readonly PriorityClass[] = [
  {
    metadata: { name: 'system-node-critical' },
    value: 2_000_001_000,
    description: 'For pods that their node cannot do without: they stay on it.',
    preemptionPolicy: 'PreemptLowerPriority',
  },
  {
    metadata: { name: 'system-cluster-critical' },
    value: 2_000_000_000,
    description: 'For pods that the cluster cannot do without; they may move to another node.',
    preemptionPolicy: 'PreemptLowerPriority',
  },
];

function* classErrors({
  metadata,
  value = 0,
  globalDefault = false,
  preemptionPolicy,
}: PriorityClass): Findings {
  const { name = '' } = metadata;
  if (name.startsWith(systemPrefix)) {
    const problem = systemProblem(name, value, globalDefault);
    if (problem)
      yield forbidden(
        'metadata.name',
        `priority class names with '${systemPrefix}' prefix are reserved for system use only. error: ${problem}`,
      );
  } else if (value > valueMax)
    yield forbidden('value', `maximum allowed value of a user defined priority is ${valueMax}`);
  if (preemptionPolicy !== undefined && !policies.includes(preemptionPolicy))
    yield notSupported('preemptionPolicy', preemptionPolicy, policies);
}

function systemProblem(name: string, value: number, globalDefault: boolean): string | undefined {
  const known = systemClasses.find(({ metadata }) => metadata.name === name);
  if (!known) return `${name} is not a known system priority class`;
  if (value !== known.value) return `value of ${name} PriorityClass must be ${known.value}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

/** The value is immutable, because existing pods keep their priority. */
function changeErrors(now: PriorityClass, before: PriorityClass): FieldError[] {
  const errors: FieldError[] = [];
  if ((now.value ?? 0) !== (before.value ?? 0))
    errors.push(forbidden('value', 'may not be changed in an update.'));
  if (now.preemptionPolicy !== before.preemptionPolicy)
    errors.push(invalid('preemptionPolicy', now.preemptionPolicy, 'field is immutable'));
  return errors;
}

export const priorityClass = defineKind<PriorityClass>({
  kind: 'PriorityClass',
  resource: 'priorityclasses',
  singular: 'priorityclass',
  shortNames: ['pc'],
  group: 'scheduling.k8s.io',
  version: 'v1',
  table: 'scheduling-v1',
  namespaced: false,
  generationOf: undefined,

  defaults(priority) {
    priority.preemptionPolicy ??= 'PreemptLowerPriority';
  },

  // The generation stays at 1, as in Kubernetes: no mutable field is part of a spec.
  prepareForCreate({ metadata }) {
    metadata.generation = 1;
  },

  validate: (priority) => collect(classErrors(priority)),
  validateUpdate: changeErrors,

  columns: [
    nameColumn,
    { name: 'Value', type: 'integer', description: 'The priority that pods of the class get.' },
    { name: 'Global-Default', type: 'boolean', description: 'Whether pods that name no class get this one.' },
    ageColumn,
    { name: 'PreemptionPolicy', description: 'Whether pods of the class may take the place of others.' },
  ],
  cells: (priority) => [
    priority.metadata.name,
    priority.value ?? 0,
    priority.globalDefault ?? false,
    ageCell(priority),
    priority.preemptionPolicy ?? '',
  ],
});
