/** ValidatingAdmissionPolicyBinding: where a policy is in force, with which parameters, and what happens when it fails. */
import { duplicate, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { ValidatingAdmissionPolicyBinding } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { bindingErrors, bindingTable, defaultMatch } from '../../rules/admission/policies.ts';
import { staticNameWarnings } from '../../rules/admission/static-names.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';

const actions = ['Audit', 'Deny', 'Warn'];

export const validatingAdmissionPolicyBinding = defineKind<ValidatingAdmissionPolicyBinding>({
  kind: 'ValidatingAdmissionPolicyBinding',
  resource: 'validatingadmissionpolicybindings',
  singular: 'validatingadmissionpolicybinding',
  categories: ['api-extensions'],
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  table: 'admissionregistration-v1',
  namespaced: false,
  warnings: staticNameWarnings,
  generationOf: 'spec',

  defaults({ spec }) {
    defaultMatch(spec?.matchResources);
  },

  validate: ({ spec = {} }) => collect(errorsOf(spec)),

  ...bindingTable,
});

function* errorsOf(spec: NonNullable<ValidatingAdmissionPolicyBinding['spec']>): Findings {
  const { validationActions = [] } = spec;
  const path = 'spec.validationActions';
  yield* bindingErrors(spec);
  if (validationActions.length === 0) yield required(path, 'at least one validation action is required');
  const seen = new Set<string>();
  for (const [i, action] of validationActions.entries()) {
    if (!actions.includes(action)) yield notSupported(index(path, i), action, actions);
    if (seen.has(action)) yield duplicate(index(path, i), action);
    seen.add(action);
  }
  if (seen.has('Deny') && seen.has('Warn'))
    yield invalid(
      path,
      validationActions,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    );
}
