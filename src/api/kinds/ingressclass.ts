/** IngressClass: which controller carries out the Ingresses of a class. */
import type { IngressClass } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';
import { isDefaultIngressClass } from '../rules/defaultclass.ts';

function parametersCell({ spec }: IngressClass): string {
  const { parameters } = spec ?? {};
  if (!parameters) return '<none>';
  const { apiGroup, kind = '', name = '' } = parameters;
  return `${kind}${apiGroup ? `.${apiGroup}` : ''}/${name}`;
}

export const ingressClass = defineKind<IngressClass>({
  kind: 'IngressClass',
  resource: 'ingressclasses',
  singular: 'ingressclass',
  group: 'networking.k8s.io',
  version: 'v1',
  table: 'networking-v1-ingress',
  namespaced: false,
  generationOf: 'spec',

  defaults({ spec }) {
    if (spec?.parameters) spec.parameters.scope ??= 'Cluster';
  },

  columns: [
    nameColumn,
    { name: 'Controller', description: 'The controller of the class.' },
    { name: 'Parameters', description: 'Object with more settings of the controller.' },
    ageColumn,
  ],
  cells: (ingress) => [
    `${ingress.metadata.name}${isDefaultIngressClass(ingress) ? ' (default)' : ''}`,
    ingress.spec?.controller ?? '',
    parametersCell(ingress),
    ageCell(ingress),
  ],
});
