/**
 * A client driven only by OpenAPI: operations, paths, parameters and bodies are taken from the server's
 * documents, and what a document does not allow is not sent.
 */
import type { Client, Headers, Json, Reply } from '../support/http.ts';

const methods = ['get', 'put', 'post', 'delete', 'patch'];

export interface Operation {
  readonly document: Json;
  readonly method: string;
  /** With parameter names in braces. */
  readonly template: string;
  readonly operation: Json;
  readonly parameters: readonly Json[];
}

export class DocumentClient {
  readonly #operations: Operation[] = [];

  private constructor(private readonly client: Client) {}

  /** Reads all documents that the server lists. */
  static async of(client: Client): Promise<DocumentClient> {
    const made = new DocumentClient(client);
    const { paths } = (await client.get('/openapi/v3')).body;
    for (const { serverRelativeURL } of Object.values<Json>(paths))
      made.#take((await client.get(serverRelativeURL)).body);
    return made;
  }

  #take(document: Json): void {
    for (const [template, item] of Object.entries<Json>(document.paths))
      for (const method of methods.filter((one) => item[one])) {
        const operation = item[method];
        const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((one) =>
          resolved(document, one),
        );
        this.#operations.push({ document, method: method.toUpperCase(), template, operation, parameters });
      }
  }

  /** The operation on whole objects of a kind, in a namespace if the kind is namespaced. */
  find(action: string, apiVersion: string, kind: string): Operation {
    const [version, group = ''] = apiVersion.split('/').reverse();
    const found = this.#operations.filter(({ operation, template }) => {
      const { 'x-kubernetes-action': does, 'x-kubernetes-group-version-kind': about } = operation;
      const same = about?.group === group && about.version === version && about.kind === kind;
      return same && does === action && !template.includes('{name}/');
    });
    return found.find(({ template }) => template.includes('{namespace}')) ?? found[0]!;
  }

  /** Sends the request; the answer's code and body must match the document. */
  async call(call: Operation, values: Record<string, string>, body?: Json, type?: string): Promise<Reply> {
    const { document, operation } = call;
    const content = operation.requestBody?.content ?? {};
    const chosen = type ?? (content['*/*'] ? 'application/json' : Object.keys(content)[0]);
    if (body !== undefined) {
      const { schema } = content[chosen!] ?? content['*/*'];
      const wrong = complaints(document, schema, body);
      if (wrong.length) throw new Error(`this does not fit ${operation.operationId}: ${wrong.join('; ')}`);
    } else if (operation.requestBody?.required) throw new Error(`${operation.operationId} needs a body`);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers: Headers = text === undefined ? {} : { 'Content-Type': chosen! };
    const reply = await this.client.request(call.method, addressOf(call, values), text, headers);
    const answer = operation.responses[reply.status] ?? operation.responses.default;
    const wrong = complaints(document, answer.content['application/json'].schema, reply.body);
    if (wrong.length) throw new Error(`the answer is not what was promised: ${wrong.join('; ')}`);
    return reply;
  }
}

/** Fills in path and query as the document says. */
function addressOf({ template, parameters }: Operation, values: Record<string, string>): string {
  const left = new Map(Object.entries(values));
  const query = new URLSearchParams();
  let path = template;
  for (const { name, in: place, required } of parameters) {
    const value = left.get(name);
    left.delete(name);
    if (value === undefined && required) throw new Error(`${template} needs ${name}`);
    if (value === undefined) continue;
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else query.set(name, value);
  }
  if (left.size) throw new Error(`${template} takes no ${[...left.keys()]}`);
  return query.size ? `${path}?${query}` : path;
}

function resolved(document: Json, one: Json): Json {
  if (!one.$ref) return one;
  const steps = one.$ref.slice(2).split('/');
  return resolved(
    document,
    steps.reduce((found: Json, step: string) => found[step.replaceAll('~1', '/')], document),
  );
}

/** What a schema finds wrong with a value. Null means unset, as everywhere in Kubernetes. */
function complaints(document: Json, given: Json, value: Json, at = ''): string[] {
  const schema = resolved(document, given);
  if (value === null || value === undefined) return [];
  const parts = (schema.allOf ?? []).flatMap((one: Json) => complaints(document, one, value, at));
  if (schema.oneOf?.every((one: Json) => complaints(document, one, value, at).length))
    return [`${at} is none of what it may be`];
  if (schema.enum && !schema.enum.includes(value)) return [`${at} is not one of ${schema.enum}`];
  return [...parts, ...typeComplaints(document, schema, value, at)];
}

function typeComplaints(document: Json, schema: Json, value: Json, at: string): string[] {
  const { type, properties, additionalProperties, items, required = [] } = schema;
  switch (type) {
    case undefined:
      return [];
    case 'object': {
      if (typeof value !== 'object' || Array.isArray(value)) return [`${at} is no object`];
      const missing = required.filter((name: string) => value[name] === undefined);
      if (!properties && !additionalProperties) return [];
      return [
        ...missing.map((name: string) => `${at}.${name} is missing`),
        ...Object.entries(value).flatMap(([name, field]) => {
          const shape = properties?.[name] ?? additionalProperties;
          return shape ? complaints(document, shape, field, `${at}.${name}`) : [`${at}.${name} is unknown`];
        }),
      ];
    }
    case 'array':
      if (!Array.isArray(value)) return [`${at} is no list`];
      return value.flatMap((one, i) => complaints(document, items, one, `${at}[${i}]`));
    case 'integer':
      return Number.isInteger(value) ? [] : [`${at} is no integer`];
    default:
      return typeof value === type ? [] : [`${at} is no ${type}`];
  }
}
