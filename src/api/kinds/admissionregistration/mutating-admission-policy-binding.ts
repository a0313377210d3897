/** MutatingAdmissionPolicyBinding: where a policy is in force, and with which parameters. */
import type { MutatingAdmissionPolicyBinding } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { bindingErrors, bindingTable, defaultMatch } from '../../rules/admission/policies.ts';
import { staticNameWarnings } from '../../rules/admission/static-names.ts';
import { collect } from '../../rules/shared/findings.ts';

export const mutatingAdmissionPolicyBinding = defineKind<MutatingAdmissionPolicyBinding>({
  kind: 'MutatingAdmissionPolicyBinding',
  resource: 'mutatingadmissionpolicybindings',
  singular: 'mutatingadmissionpolicybinding',
  categories: ['api-extensions'],
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  table: 'admissionregistration-v1',
  hashedVersion: 'admissionregistration.k8s.io/v1beta1',
  namespaced: false,
  warnings: staticNameWarnings,
  generationOf: 'spec',

  defaults({ spec }) {
    defaultMatch(spec?.matchResources);
  },

  validate: ({ spec = {} }) => collect(bindingErrors(spec)),

  ...bindingTable,
});
