/** ValidatingWebhookConfiguration: webhooks that may refuse objects before they are stored. */
import type { ValidatingWebhookConfiguration } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { staticNameWarnings } from '../../rules/admission/static-names.ts';
import { defaultWebhook, webhooksErrors } from '../../rules/admission/webhooks.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect } from '../../rules/shared/findings.ts';

export const validatingWebhookConfiguration = defineKind<ValidatingWebhookConfiguration>({
  kind: 'ValidatingWebhookConfiguration',
  resource: 'validatingwebhookconfigurations',
  singular: 'validatingwebhookconfiguration',
  categories: ['api-extensions'],
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  table: 'admissionregistration-v1',
  namespaced: false,
  warnings: staticNameWarnings,
  generationOf: 'webhooks',

  defaults({ webhooks = [] }) {
    for (const webhook of webhooks) defaultWebhook(webhook);
  },

  validate: ({ webhooks }, old) => collect(webhooksErrors(webhooks, old?.webhooks)),

  columns: [nameColumn, { name: 'Webhooks', type: 'integer', description: 'Number of webhooks.' }, ageColumn],
  cells: (configuration) => [
    configuration.metadata.name,
    configuration.webhooks?.length ?? 0,
    ageCell(configuration),
  ],
});
