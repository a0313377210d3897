/** MutatingWebhookConfiguration: webhooks that may change objects before they are stored. */
import { child } from '../../errors/field-error.ts';
import type { MutatingWebhookConfiguration } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { staticNameWarnings } from '../../rules/admission/static-names.ts';
import { choiceErrors, defaultWebhook, webhooksErrors } from '../../rules/admission/webhooks.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect } from '../../rules/shared/findings.ts';

export const mutatingWebhookConfiguration = defineKind<MutatingWebhookConfiguration>({
  kind: 'MutatingWebhookConfiguration',
  resource: 'mutatingwebhookconfigurations',
  singular: 'mutatingwebhookconfiguration',
  categories: ['api-extensions'],
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  table: 'admissionregistration-v1',
  namespaced: false,
  warnings: staticNameWarnings,
  generationOf: 'webhooks',

  defaults({ webhooks = [] }) {
    for (const webhook of webhooks) {
      defaultWebhook(webhook);
      webhook.reinvocationPolicy ??= 'Never';
    }
  },

  validate: ({ webhooks }, old) =>
    collect(
      webhooksErrors(webhooks, old?.webhooks, ({ reinvocationPolicy }, path) =>
        choiceErrors(reinvocationPolicy, child(path, 'reinvocationPolicy'), ['IfNeeded', 'Never']),
      ),
    ),

  columns: [nameColumn, { name: 'Webhooks', type: 'integer', description: 'Number of webhooks.' }, ageColumn],
  cells: (configuration) => [
    configuration.metadata.name,
    configuration.webhooks?.length ?? 0,
    ageCell(configuration),
  ],
});
