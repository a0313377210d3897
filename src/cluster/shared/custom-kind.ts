/** Kinds that a program defines for the cluster it starts, without an object that defines them. */

import { type FieldError, invalid } from '../../api/errors/field-error.ts';
import type { CustomResourceDefinition, JSONSchemaProps, ObjectMeta } from '../../api/generated/types.ts';
import { type Column, defineKind, type Kind } from '../../api/kind/kind.ts';
import { customResourceDefinition } from '../../api/kinds/apiextensions/custom-resource-definition.ts';
import type { Schema } from '../../api/model/json-schema.ts';
import { nameColumn } from '../../api/rules/shared/columns.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { Cell } from '../../api/values/elapsed.ts';
import { kindsOf } from '../../extensions/definitions/custom-kind.ts';
import { StartError } from './start-error.ts';

/** A schema in OpenAPI 3, as in a CustomResourceDefinition. */
export type CustomSchema = Schema;

/** An object of a custom kind. */
export interface CustomObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** A column of `kubectl get`. */
export interface CustomColumn<T extends CustomObject = CustomObject> {
  readonly name: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly description?: string;
  /** Shown only with `-o wide`. */
  readonly wide?: boolean;
  /** The value of the cell. */
  readonly value: (object: T) => unknown;
}

/** Something that is wrong with an object: the path of the field, the value there, and what is wrong with it. */
export interface CustomError {
  readonly field: string;
  readonly value?: unknown;
  readonly message: string;
}

export interface CustomKindOptions<T extends CustomObject = CustomObject> {
  /** Group of the kind: a domain, such as `example.com`. */
  readonly group: string;
  /** The kind of the objects, such as `Ship`. */
  readonly kind: string;
  /** Default `v1`. */
  readonly version?: string;
  /** The resource in paths. Default: the kind in lower case and an `s`. */
  readonly plural?: string;
  /** Default: the kind in lower case. */
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Default `Namespaced`. */
  readonly scope?: 'Namespaced' | 'Cluster';
  /** What objects look like. Default: any object. */
  readonly schema?: CustomSchema;
  /** Whether the status is written on its own. Default: when the schema has a `status`. */
  readonly status?: boolean;
  /** Fields by which lists can be selected, such as `.spec.port`. */
  readonly selectableFields?: readonly string[];
  /** Columns of `kubectl get` behind the name. Default: the age. */
  readonly columns?: readonly CustomColumn<T>[];
  /** Checks an object that fits the schema, before it is stored. `old` is the stored one, on an update. */
  readonly validate?: (object: T, old?: T) => readonly CustomError[];
}

/** A kind for the option `kinds` of `start`. */
export interface CustomKind {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
  /** Where objects are: `/apis/GROUP/VERSION/…`. */
  readonly plural: string;
}

const made = new WeakMap<CustomKind, Kind>();

/** Defines a kind. Throws a StartError when it cannot be one. */
export function customKind<T extends CustomObject = CustomObject>(options: CustomKindOptions<T>): CustomKind {
  const definition = definitionOf(options);
  customResourceDefinition.defaults?.(definition);
  customResourceDefinition.prepareForCreate?.(definition, { now: '' });
  const errors = customResourceDefinition.validate?.(definition) ?? [];
  if (errors.length)
    throw new StartError(
      `the kind ${options.kind} cannot be defined: ${errors.map(({ field, message }) => `${field}: ${message}`).join('; ')}`,
    );
  definition.status!.acceptedNames = definition.spec!.names;
  const [kind] = kindsOf(definition, {
    hooks: { call: () => Promise.reject(new Error('kinds of programs have no webhooks')) },
    uid: () => '',
  });
  const { group, version, resource } = kind!;
  const handle: CustomKind = { group, kind: kind!.kind, version, plural: resource };
  made.set(handle, withProgram(kind!, options));
  return handle;
}

/** The kinds themselves. */
export function kindsOfProgram(handles: readonly CustomKind[]): Kind[] {
  return handles.map((handle) => {
    const kind = made.get(handle);
    if (!kind) throw new StartError('the option "kinds" takes what customKind() returns');
    return kind;
  });
}

function definitionOf<T extends CustomObject>(options: CustomKindOptions<T>): CustomResourceDefinition {
  const { group, kind, version = 'v1', scope = 'Namespaced' } = options;
  const schema: Schema = options.schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const plural = options.plural ?? `${kind.toLowerCase()}s`;
  const hasStatus = options.status ?? schema.properties?.['status'] !== undefined;
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: {
        plural,
        kind,
        singular: options.singular,
        shortNames: options.shortNames && [...options.shortNames],
        categories: options.categories && [...options.categories],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema as JSONSchemaProps },
          subresources: hasStatus ? { status: {} } : undefined,
          selectableFields: options.selectableFields?.map((jsonPath) => ({ jsonPath })),
        },
      ],
    },
  };
}

/** The kind with the columns and checks of the program. */
function withProgram<T extends CustomObject>(kind: Kind, options: CustomKindOptions<T>): Kind {
  const { columns, validate } = options;
  return defineKind<ApiObject>({
    ...kind,
    ...(columns ? tableOf(columns) : {}),
    ...(validate
      ? {
          validate: (object: ApiObject, old?: ApiObject): FieldError[] => {
            const errors = kind.validate?.(object, old) ?? [];
            if (errors.length) return errors;
            return validate(object as unknown as T, old as unknown as T | undefined).map(
              ({ field, value, message }) => invalid(field, value, message),
            );
          },
        }
      : {}),
  });
}

/** Cells are scalars; of anything else there is nothing to show. */
const cellOf = (value: unknown): Cell =>
  ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? (value as Cell) : null;

const tableOf = <T extends CustomObject>(columns: readonly CustomColumn<T>[]) => ({
  columns: [
    nameColumn,
    ...columns.map(
      ({ name, type, description = '', wide }): Column => ({
        name,
        description,
        ...(type ? { type } : {}),
        priority: wide ? 1 : 0,
      }),
    ),
  ],
  cells: (object: ApiObject): Cell[] => [
    object.metadata.name,
    ...columns.map(({ value }) => cellOf(value(object as unknown as T))),
  ],
});
