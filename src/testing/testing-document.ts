/** The OpenAPI 3 document about the paths of the kit. */
import { release } from '../api/values/release.ts';
import { testingRoutes } from './testing-routes.ts';

const status = {
  description: 'A Status that says why not',
  content: { 'application/json': { schema: { type: 'object' } } },
};

export function testingDocument(root: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { described } of testingRoutes) {
    const { method, path, summary, query = {}, body } = described;
    const full = path ? `${root}/${path}` : root;
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    }));
    const inQuery = Object.entries(query).map(([name, description]) => ({
      name,
      in: 'query',
      description,
      schema: { type: 'string' },
    }));
    const operation = {
      summary,
      operationId: operationId(method, path),
      tags: ['testing'],
      parameters: [...inPath, ...inQuery],
      ...(body
        ? {
            requestBody: {
              content: { 'application/json': { schema: { type: 'object', properties: body } } },
            },
          }
        : {}),
      responses: {
        200: { description: 'Done', content: { 'application/json': { schema: { type: 'object' } } } },
        default: status,
      },
    };
    (paths[full] ??= {})[method.toLowerCase()] = operation;
  }
  return { openapi: '3.0.0', info: { title: 'Wherry test kit', version: release }, paths };
}

/** `POST snapshots/{name}/restore` → `postSnapshotsNameRestore`. */
const operationId = (method: string, path: string): string =>
  [method.toLowerCase(), 'testing', ...path.split(/\W+/).filter(Boolean)]
    .map((word, i) => (i === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
    .join('');
