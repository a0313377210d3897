/** MutatingAdmissionPolicy: expressions that change objects before they are stored, where a binding says so. */
import { child, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { MutatingAdmissionPolicy, Mutation } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { defaultPolicy, paramKindCell, policyErrors } from '../../rules/admission/policies.ts';
import { PolicyScope } from '../../rules/admission/policy-scope.ts';
import { staticNameWarnings } from '../../rules/admission/static-names.ts';
import { choiceErrors } from '../../rules/admission/webhooks.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';

/** Operations of such policies; deleted objects cannot be changed. */
const operations = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
const patchTypes = ['ApplyConfiguration', 'JSONPatch'];

export const mutatingAdmissionPolicy = defineKind<MutatingAdmissionPolicy>({
  kind: 'MutatingAdmissionPolicy',
  resource: 'mutatingadmissionpolicies',
  singular: 'mutatingadmissionpolicy',
  categories: ['api-extensions'],
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  table: 'admissionregistration-v1',
  hashedVersion: 'admissionregistration.k8s.io/v1beta1',
  namespaced: false,
  warnings: staticNameWarnings,
  generationOf: 'spec',

  defaults({ spec }) {
    if (spec) defaultPolicy(spec);
  },

  validate: ({ spec = {} }) => collect(errorsOf(spec)),

  columns: [
    nameColumn,
    { name: 'Mutations', type: 'integer', description: 'Number of mutations.' },
    { name: 'ParamKind', type: 'string', description: 'Kind of the parameters.' },
    ageColumn,
  ],
  cells: (policy) => [
    policy.metadata.name,
    policy.spec?.mutations?.length ?? 0,
    paramKindCell(policy.spec?.paramKind),
    ageCell(policy),
  ],
});

function* errorsOf(spec: NonNullable<MutatingAdmissionPolicy['spec']>): Findings {
  const scope = new PolicyScope(spec, true);
  const { mutations = [], reinvocationPolicy, matchConstraints } = spec;
  yield* policyErrors(spec, scope);
  for (const { operations: named = [] } of matchConstraints?.resourceRules ?? [])
    for (const operation of named)
      if (operation === 'DELETE')
        yield notSupported('spec.matchConstraints.resourceRules.operations', operation, operations);
  if (mutations.length === 0) yield required('spec.mutations', 'mutations must contain at least one item');
  for (const [i, mutation] of mutations.entries())
    yield* mutationErrors(mutation, index('spec.mutations', i), scope);
  if (!reinvocationPolicy) yield required('spec.reinvocationPolicy');
  else yield* choiceErrors(reinvocationPolicy, 'spec.reinvocationPolicy', ['IfNeeded', 'Never']);
}

function* mutationErrors(mutation: Mutation, path: string, scope: PolicyScope): Findings {
  const { patchType, applyConfiguration, jsonPatch } = mutation;
  const parts = { applyConfiguration, jsonPatch };
  const wanted = patchType === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration';
  const other = patchType === 'JSONPatch' ? 'applyConfiguration' : 'jsonPatch';
  if (!patchType) return yield required(child(path, 'patchType'));
  if (!patchTypes.includes(patchType))
    return yield notSupported(child(path, 'patchType'), patchType, patchTypes);
  const part = parts[wanted];
  if (!part) yield required(child(path, wanted), `must be specified when patchType is ${patchType}`);
  if (parts[other])
    yield invalid(child(path, other), `{${other}}`, `must not be specified when patchType is ${patchType}`);
  if (!part) return;
  const expressionPath = child(child(path, wanted), 'expression');
  const { expression = '' } = part;
  if (!expression.trim()) return yield required(expressionPath, 'expression is not specified');
  const { problem } = scope.expression(expression, [mutationResult(patchType)]);
  if (problem) yield invalid(expressionPath, expression, problem);
}

/** The type that the expression of a mutation gives. */
export const mutationResult = (patchType: string | undefined): string =>
  patchType === 'JSONPatch' ? 'list(JSONPatch)' : 'Object';
