/**
 * What a new object begins with: for kinds that people create often, a small object that the server accepts as it is,
 * and an example with more; for others, the required fields of the schema with values that fit it.
 */
import type { Json } from '../../core/objects.ts';
import type { KindSchema } from '../../core/schema.ts';
import { examples } from './examples.ts';
import { sampleValue } from './sample-value.ts';
import { smallObjects } from './small-objects.ts';

/** What is known of a kind; tests without a browser have no more. */
interface NamedKind {
  readonly id: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export type TemplateName = 'small' | 'example';

export const hasExample = ({ id }: Pick<NamedKind, 'id'>): boolean => Object.hasOwn(examples, id);

const name = 'example';

/** The schema is needed for kinds that have no template of their own. */
export function templateOf(
  kind: NamedKind,
  namespace: string,
  schema: KindSchema | undefined,
  wanted: TemplateName,
): Json {
  const own = (wanted === 'example' ? examples[kind.id] : undefined) ?? smallObjects[kind.id];
  const { metadata, ...parts } = own ?? fromSchema(schema);
  return {
    apiVersion: kind.group ? `${kind.group}/${kind.version}` : kind.version,
    kind: kind.kind,
    metadata: { name, ...(kind.namespaced ? { namespace } : {}), ...metadata },
    ...parts,
  };
}

/** The spec, and other fields that the schema wants. */
function fromSchema(schema: KindSchema | undefined): Json {
  if (!schema) return {};
  const { properties = {}, required = [] } = schema.resolve(schema.root);
  const fields = [...required, ...(properties.spec ? ['spec'] : [])].filter(
    (field) => !['apiVersion', 'kind', 'metadata', 'status'].includes(field) && properties[field],
  );
  return Object.fromEntries(
    fields.map((field) => [field, sampleValue(schema, properties[field]!, field)] as const),
  );
}
