/** NetworkPolicy: which connections pods accept and open. */
import type { NetworkPolicy } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { formatLabelSelectorObject, type LabelSelectorObject } from '../../kind/label-selector.ts';
import { policyErrors, rangeWarnings } from '../../rules/service/network-policies.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect } from '../../rules/shared/findings.ts';

export const networkPolicy = defineKind<NetworkPolicy>({
  kind: 'NetworkPolicy',
  resource: 'networkpolicies',
  singular: 'networkpolicy',
  shortNames: ['netpol'],
  group: 'networking.k8s.io',
  version: 'v1',
  table: 'networking-v1',
  namespaced: true,
  generationOf: 'spec',

  defaults(policy) {
    const spec = (policy.spec ??= {});
    const { ingress = [], egress = [] } = spec;
    for (const { ports } of [...ingress, ...egress]) for (const port of ports ?? []) port.protocol ??= 'TCP';
    spec.policyTypes ??= egress.length ? ['Ingress', 'Egress'] : ['Ingress'];
  },

  validate: ({ spec = {} }, old) => collect(policyErrors(spec, old && (old.spec ?? {}))),
  warnings: ({ spec = {} }) => rangeWarnings(spec),

  columns: [nameColumn, { name: 'Pod-Selector', description: 'The pods it is for.' }, ageColumn],
  cells: (policy) => [
    policy.metadata.name,
    formatLabelSelectorObject(policy.spec?.podSelector as LabelSelectorObject),
    ageCell(policy),
  ],
});
