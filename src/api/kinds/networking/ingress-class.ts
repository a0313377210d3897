/** IngressClass: which controller carries out the Ingresses of a class. */
import { child, forbidden, invalid, notSupported, required, tooLong } from '../../errors/field-error.ts';
import type { IngressClass, IngressClassParametersReference } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { isDefaultIngressClass } from '../../rules/storage/default-class.ts';
import { isDomainPath, isLabel1123, isPathSegment, isSubdomain1123 } from '../../values/names.ts';

const controllerBytesMax = 250;
const scopes = ['Cluster', 'Namespace'];

function* specErrors({ spec = {} }: IngressClass): Findings {
  const { controller = '', parameters } = spec;
  const path = 'spec.controller';
  if (Buffer.byteLength(controller) > controllerBytesMax) yield tooLong(path, controllerBytesMax);
  if (!controller) yield required(path);
  else for (const { value, problem } of isDomainPath(controller)) yield invalid(path, value, problem);
  if (parameters) yield* parametersErrors(parameters, 'spec.parameters');
}

function* parametersErrors(parameters: IngressClassParametersReference, path: string): Findings {
  const { apiGroup, kind, name, scope = '', namespace } = parameters;
  if (apiGroup !== undefined) yield* problemsOf(child(path, 'apiGroup'), apiGroup, isSubdomain1123(apiGroup));
  if (kind) yield* problemsOf(child(path, 'kind'), kind, isPathSegment(kind));
  else yield required(child(path, 'kind'));
  if (name) yield* problemsOf(child(path, 'name'), name, isPathSegment(name));
  else yield required(child(path, 'name'));
  if (!scopes.includes(scope)) yield notSupported(child(path, 'scope'), scope, scopes);
  const namespacePath = child(path, 'namespace');
  if (scope === 'Namespace' && !namespace)
    yield required(namespacePath, "`parameters.scope` is set to 'Namespace'");
  else if (scope === 'Namespace') yield* problemsOf(namespacePath, namespace, isLabel1123(namespace!));
  if (scope === 'Cluster' && namespace !== undefined)
    yield forbidden(namespacePath, "`parameters.scope` is set to 'Cluster'");
}

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

  validate: (ingress) => collect(specErrors(ingress)),
  validateUpdate: ({ spec }, old) =>
    spec?.controller === old.spec?.controller
      ? []
      : [invalid('spec.controller', spec?.controller ?? '', 'field is immutable')],

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
