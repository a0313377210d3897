/**
 * The schemas of kinds, own ones included, from the server's OpenAPI v3 documents: one per group and version, loaded when
 * first asked for.
 */
import { ask } from './api.ts';
import { apiVersionOf, type Kind } from './kinds.ts';
import { KindSchema, type Schema } from './schema.ts';

interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface Index {
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
}

/** Documents that are kept. */
const documentsMax = 8;

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
