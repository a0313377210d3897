/** The admissionregistration group: webhooks and policies that change or refuse writes. */
import type { Group } from '../../kind/group.ts';
import { mutatingAdmissionPolicy } from './mutating-admission-policy.ts';
import { mutatingAdmissionPolicyBinding } from './mutating-admission-policy-binding.ts';
import { mutatingWebhookConfiguration } from './mutating-webhook-configuration.ts';
import { validatingAdmissionPolicy } from './validating-admission-policy.ts';
import { validatingAdmissionPolicyBinding } from './validating-admission-policy-binding.ts';
import { validatingWebhookConfiguration } from './validating-webhook-configuration.ts';

export const group: Group = {
  name: 'admissionregistration.k8s.io',
  priority: 16_700,
  versions: { v1: {} },
  kinds: [
    mutatingAdmissionPolicy,
    mutatingAdmissionPolicyBinding,
    mutatingWebhookConfiguration,
    validatingAdmissionPolicy,
    validatingAdmissionPolicyBinding,
    validatingWebhookConfiguration,
  ],
};
