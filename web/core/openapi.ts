/**
 * The schemas of kinds, own ones included, from the server's OpenAPI v3 documents: one per group and version, loaded when
 * first asked for. References are followed as a path is walked, because schemas may hold themselves.
 */
import { ask } from './api.ts';
import { apiVersionOf, type Kind } from './kinds.ts';
import type { Json } from './objects.ts';

export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly enum?: readonly Json[];
  readonly default?: Json;
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface Index {
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
}

/** How many references are followed for one schema. */
const referencesMax = 16;
/** Documents that are kept. */
const documentsMax = 8;

export type Path = readonly (string | number)[];

/** The schema of a kind with what it refers to. */
export class KindSchema {
  constructor(
    private readonly schemas: Readonly<Record<string, Schema>>,
    readonly root: Schema,
  ) {}

  /** With its references followed; a description beside a reference wins over that of what is referred to. */
  resolve(schema: Schema): Schema {
    let found = schema;
    for (let i = 0; i < referencesMax; i++) {
      const inner = found.$ref ? this.#referred(found.$ref) : found.allOf?.length === 1 ? found.allOf[0] : undefined;
      if (!inner) break;
      const { $ref: _, allOf: __, ...own } = found;
      found = { ...inner, ...own };
    }
    return found;
  }

  /** The schema of a field, or undefined where none is known. */
  at(path: Path): Schema | undefined {
    let schema: Schema | undefined = this.resolve(this.root);
    for (const step of path) {
      const { properties, items, additionalProperties }: Schema = schema;
      const next: Schema | undefined =
        typeof step === 'number'
          ? items
          : ownOf(properties, step) ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
      if (!next) return undefined;
      schema = this.resolve(next);
    }
    return schema;
  }

  #referred(reference: string): Schema | undefined {
    return ownOf(this.schemas, decodeURIComponent(reference.slice(reference.lastIndexOf('/') + 1)));
  }
}

const ownOf = <T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  record && Object.hasOwn(record, key) ? record[key] : undefined;

const documents = new Map<string, Promise<Document>>();

/** Undefined when the server has no schema for the kind. */
export async function schemaOf(kind: Kind): Promise<KindSchema | undefined> {
  const { components } = await documentOf(kind);
  const schemas = components?.schemas ?? {};
  const root = Object.values(schemas).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(
      ({ group, version, kind: name }) =>
        group === kind.group && version === kind.version && name === kind.kind,
    ),
  );
  return root && new KindSchema(schemas, root);
}

async function documentOf(kind: Kind): Promise<Document> {
  const name = `${kind.group ? 'apis' : 'api'}/${apiVersionOf(kind)}`;
  const { paths } = await ask<Index>('/openapi/v3');
  // The address holds a hash of the document, so a definition that changes has another one.
  const address = paths[name]?.serverRelativeURL;
  if (!address) return {};
  let document = documents.get(address);
  if (!document) {
    if (documents.size >= documentsMax) documents.delete(documents.keys().next().value!);
    document = ask<Document>(address);
    documents.set(address, document);
    document.catch(() => documents.delete(address));
  }
  return document;
}

/** The values that a field may have, where these are few: named by the schema, or in the words of its description. */
export function valuesOf(schema: Schema): readonly string[] {
  if (schema.type === 'boolean') return ['true', 'false'];
  if (schema.enum) return schema.enum.map(String);
  const words = /(?:Known|Possible|Valid) values(?: are)?:\s*([^.]+)/.exec(schema.description ?? '')?.[1];
  return words?.split(/,\s*|\s+(?:and|or)\s+/).map((word) => word.trim()).filter((word) => /^[\w./-]+$/.test(word)) ?? [];
}

/** `string`, `integer`, `list of Container`, as people say it. */
export function typeText(schemas: KindSchema, schema: Schema): string {
  const { type, items, additionalProperties, format, oneOf } = schemas.resolve(schema);
  if (items) return `list of ${typeText(schemas, items)}`;
  if (typeof additionalProperties === 'object') return `map of ${typeText(schemas, additionalProperties)}`;
  if (schema['x-kubernetes-int-or-string'] || format === 'int-or-string') return 'integer or string';
  return type ?? (oneOf ? oneOf.map((one) => one.type ?? '').join(' or ') : 'object');
}
