/** MutatingAdmissionPolicyBinding: where a policy is in force, and with which parameters. */
import type { MutatingAdmissionPolicyBinding } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';
import { collect } from '../rules/findings.ts';
import { bindingErrors, defaultMatch, paramRefCell } from '../rules/policies.ts';

export const mutatingAdmissionPolicyBinding = defineKind<MutatingAdmissionPolicyBinding>({
  kind: 'MutatingAdmissionPolicyBinding',
  resource: 'mutatingadmissionpolicybindings',
  singular: 'mutatingadmissionpolicybinding',
  categories: ['api-extensions'],
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  table: 'admissionregistration-v1',
  namespaced: false,
  generationOf: 'spec',

  defaults({ spec }) {
    defaultMatch(spec?.matchResources);
  },

  validate: ({ spec = {} }) => collect(bindingErrors(spec)),

  columns: [
    nameColumn,
    { name: 'PolicyName', type: 'string', description: 'The policy that is bound.' },
    { name: 'ParamRef', type: 'string', description: 'Where its parameters are.' },
    ageColumn,
  ],
  cells: (binding) => [
    binding.metadata.name,
    binding.spec?.policyName ?? '',
    paramRefCell(binding.spec?.paramRef),
    ageCell(binding),
  ],
});
