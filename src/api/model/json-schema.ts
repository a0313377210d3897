/**
 * The schema of a custom kind: `openAPIV3Schema` of apiextensions.k8s.io/v1 as plain JSON, and what is made of it.
 * `structural.ts` checks a schema when its definition is written, `compiled-schema.ts` turns it into functions on objects,
 * `publication.ts` into OpenAPI.
 */
import type { FieldError } from '../errors/field-error.ts';
import type { JsonObject } from '../text/object.ts';

/** Levels of schemas inside schemas. Deeper ones are refused, so recursion over a schema is safe. */
export const schemaDepthMax = 100;

/** Whole numbers beyond 2^53 are bigint, see `exact-json.ts`. */
export interface Schema {
  id?: string;
  $schema?: string;
  $ref?: string;
  description?: string;
  type?: string;
  format?: string;
  title?: string;
  default?: unknown;
  maximum?: number | bigint;
  exclusiveMaximum?: boolean;
  minimum?: number | bigint;
  exclusiveMinimum?: boolean;
  maxLength?: number | bigint;
  minLength?: number | bigint;
  pattern?: string;
  maxItems?: number | bigint;
  minItems?: number | bigint;
  uniqueItems?: boolean;
  multipleOf?: number | bigint;
  enum?: unknown[];
  maxProperties?: number | bigint;
  minProperties?: number | bigint;
  required?: string[];
  items?: Schema | Schema[];
  allOf?: Schema[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  not?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  patternProperties?: Record<string, Schema>;
  dependencies?: Record<string, Schema | string[]>;
  additionalItems?: Schema | boolean;
  definitions?: Record<string, Schema>;
  externalDocs?: { description?: string; url?: string };
  example?: unknown;
  nullable?: boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-map-type'?: string;
  'x-kubernetes-validations'?: ValidationRule[];
}

export interface ValidationRule {
  /** Absent in a rule that was sent as null or empty, which is refused. */
  rule?: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

/** What is found out about a schema when its definition is created or updated. */
export interface SchemaCheckOptions {
  /** The status subresource restricts what the root of the schema may say. */
  readonly statusEnabled: boolean;
  /**
   * On update, the schemas of all versions of the old definition: what they already break may stay broken.
   * Absent on create.
   */
  readonly oldSchemas?: readonly Schema[];
}

/** What `validate` compares and checks beside the object itself. */
export interface ValidateOptions {
  /** The stored object, on update: errors of nodes that have not changed are dropped. */
  readonly old?: JsonObject;
  /** Whether what is wrong with unchanged nodes may stay so. Default: true; Kubernetes has it since 1.30. */
  readonly ratchets?: boolean;
  /** On writes of the status: only this top-level field is checked against the keywords of the schema. */
  readonly only?: 'status';
}

export interface Validation {
  readonly errors: readonly FieldError[];
  /** Rules that fail on unchanged nodes do not refuse the write; their texts are sent as warnings. */
  readonly warnings: readonly string[];
}

/** A validation that is under way. */
export interface ValidationWork {
  /** Steps that rules have taken so far. */
  readonly spent: number;
  /** Computes on for a while; gives the result when it is there. */
  advance(): Validation | undefined;
}

/** Where an object comes from: a body, the store, or a merge of both by server-side apply. */
export type ObjectOrigin = 'sent' | 'stored' | 'applied';

/** Functions on objects of one version. Each is made on first use, so a definition that is never written to costs nothing. */
export interface CompiledSchema {
  readonly schema: Schema;
  /**
   * Removes what the schema does not name, in place, and nulls that a field may not have. Throws a DecodeError when the
   * type or metadata of an embedded resource cannot be read.
   * @param origin of other objects than sent ones, such fields are dropped; of applied ones, nulls stay to be refused
   * @returns the paths of the fields that were removed as unknown, sorted (`spec.objs[0].m`); some of very many
   */
  prune(object: JsonObject, origin?: ObjectOrigin): string[];
  /** Sets defaults in place. */
  applyDefaults(object: JsonObject): void;
  /**
   * Checks against the schema, in the order of Kubernetes: keywords, embedded resources, list types, rules. Type meta,
   * object metadata and scale are checked by the caller before.
   */
  validate(object: JsonObject, options?: ValidateOptions): Validation;
  /** The same in slices, because rules may take many steps. */
  begin(object: JsonObject, options?: ValidateOptions): ValidationWork;
  /** Whether any node has `x-kubernetes-validations`. */
  readonly hasRules: boolean;
}
