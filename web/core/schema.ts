/**
 * OpenAPI schemas as Kubernetes uses them. References are resolved while a path is walked, because schemas may be
 * recursive.
 */
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
  readonly minimum?: number;
  readonly minLength?: number;
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

/** Maximum number of references resolved for one schema. */
const referencesMax = 16;

export type Path = readonly (string | number)[];

/** The schema of a kind with what it refers to. */
export class KindSchema {
  constructor(
    private readonly schemas: Readonly<Record<string, Schema>>,
    readonly root: Schema,
  ) {}

  /** A schema with its references resolved; a description beside a reference wins over that of the target. */
  resolve(schema: Schema): Schema {
    let found = schema;
    for (let i = 0; i < referencesMax; i++) {
      const inner = found.$ref
        ? this.#referred(found.$ref)
        : found.allOf?.length === 1
          ? found.allOf[0]
          : undefined;
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
          : (ownOf(properties, step) ??
            (typeof additionalProperties === 'object' ? additionalProperties : undefined));
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

/** The values that a field may have, where these are few: named by the schema, or in the words of its description. */
export function valuesOf(schema: Schema): readonly string[] {
  if (schema.type === 'boolean') return ['true', 'false'];
  if (schema.enum) return schema.enum.map(String);
  const words = /(?:Known|Possible|Valid) values(?: are)?:\s*([^.]+)/.exec(schema.description ?? '')?.[1];
  return (
    words
      ?.split(/,\s*|\s+(?:and|or)\s+/)
      .map((word) => word.trim())
      .filter((word) => /^[\w./-]+$/.test(word)) ?? []
  );
}

/** `string`, `integer`, `list of Container`, as people say it. */
export function typeText(schemas: KindSchema, schema: Schema): string {
  const { type, items, additionalProperties, format, oneOf } = schemas.resolve(schema);
  if (items) return `list of ${typeText(schemas, items)}`;
  if (typeof additionalProperties === 'object') return `map of ${typeText(schemas, additionalProperties)}`;
  if (schema['x-kubernetes-int-or-string'] || format === 'int-or-string') return 'integer or string';
  return type ?? (oneOf ? oneOf.map((one) => one.type ?? '').join(' or ') : 'object');
}
