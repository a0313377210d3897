/** Definitions of custom kinds for tests. */
import type { Client, Json } from '../support/http.ts';

export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export interface VersionForm {
  readonly name: string;
  readonly spec?: Json;
  readonly storage?: boolean;
  readonly served?: boolean;
  readonly more?: Json;
}

/** A definition in the group `test.example.com`; its kind has a status. */
export function definitionOf(
  plural: string,
  kind: string,
  versions: readonly VersionForm[] = [{ name: 'v1' }],
  names: Json = {},
): Json {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.test.example.com` },
    spec: {
      group: 'test.example.com',
      scope: 'Namespaced',
      names: { plural, kind, ...names },
      versions: versions.map(({ name, spec = {}, storage = versions.length === 1, served = true, more }) => ({
        name,
        served,
        storage,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer' }, ...spec } },
              status: { type: 'object', properties: { phase: { type: 'string' } } },
            },
          },
        },
        subresources: { status: {} },
        ...more,
      })),
    },
  };
}

/** Creates a definition, and waits until its kind is served. */
export async function define(client: Client, definition: Json): Promise<void> {
  const watch = await client.watch(
    `${definitionsPath}?watch=true&fieldSelector=metadata.name=${definition.metadata.name}`,
  );
  try {
    const reply = await client.post(definitionsPath, definition);
    if (reply.status > 201) throw new Error(reply.text);
    await watch.until(({ object }) => isEstablished(object));
  } finally {
    watch.close();
  }
}

export const conditionOf = (definition: Json, type: string): Json =>
  definition.status?.conditions?.find((condition: Json) => condition.type === type);

const isEstablished = (definition: Json): boolean =>
  conditionOf(definition, 'Established')?.status === 'True';

/** An object of such a kind. */
export const objectOf = (kind: string, name: string, spec: Json = {}, version = 'v1'): Json => ({
  apiVersion: `test.example.com/${version}`,
  kind,
  metadata: { name },
  spec,
});

export const objectsPath = (plural: string, version = 'v1'): string =>
  `/apis/test.example.com/${version}/namespaces/default/${plural}`;
