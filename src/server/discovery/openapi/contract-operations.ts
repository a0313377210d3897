/**
 * Operations that discovery does not list and only Swagger 1.2 describes: proxies with a further path, proxies below
 * `/api/v1/proxy`, and component statuses below a namespace.
 */
import { modelOf } from '../../../api/model/model.ts';
import type { Operation } from './operations.ts';
import { listParameters, type Parameter, parameter, readParameters } from './parameters.ts';

const methods = ['get', 'put', 'delete', 'post'] as const;
const tail: Parameter = {
  name: 'path',
  in: 'path',
  type: 'string',
  description: 'The path behind the proxy.',
};

const proxied: readonly (readonly [kind: string, path: string])[] = [
  ['NamespacedPod', '/namespaces/{namespace}/pods/{name}'],
  ['NamespacedService', '/namespaces/{namespace}/services/{name}'],
  ['Node', '/nodes/{name}'],
];

function proxy(path: string, owner: string, hasTail: boolean): Operation[] {
  return methods.map((method) => ({
    path: `/api/v1${path}${hasTail ? '/{path:*}' : ''}`,
    method,
    id: `proxy${method.toUpperCase()}${owner}${hasTail ? 'Path' : ''}`,
    description: `Sends ${method.toUpperCase()} requests on to the ${owner.replace('Namespaced', '')}.`,
    parameters: hasTail ? [tail] : [],
  }));
}

const statuses = '/api/v1/namespaces/{namespace}/componentstatuses';

/** The further operations of a version. */
export function contractOperations(apiVersion: string): readonly Operation[] {
  if (apiVersion !== 'v1') return [];
  const what = 'ComponentStatus';
  return [
    ...proxy('/namespaces/{namespace}/pods/{name}/proxy', 'NamespacedPodConnection', true),
    ...proxied.flatMap(([owner, path]) =>
      [false, true].flatMap((hasTail) => proxy(`/proxy${path}`, owner, hasTail)),
    ),
    {
      path: statuses,
      method: 'get',
      id: `listNamespaced${what}`,
      description: 'List of component statuses, which are the same in all namespaces.',
      parameters: listParameters.map(parameter),
      answer: modelOf(`${what}List`),
    },
    {
      path: `${statuses}/{name}`,
      method: 'get',
      id: `readNamespaced${what}`,
      description: `Reads a ${what}.`,
      parameters: readParameters.map(parameter),
      answer: modelOf(what),
    },
  ];
}
