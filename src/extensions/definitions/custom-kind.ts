/**
 * Custom kinds: each version of a definition as a `Kind`. Its model is thin: kind, apiVersion and metadata are typed,
 * everything else is kept as it came. The schema does what field tables do for built-in kinds: it prunes, sets defaults
 * and validates.
 */

import { compileSchema } from '../../api/custom-schema/compiled-schema.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
} from '../../api/generated/types.ts';
import { type Conversion, defineKind, type Kind, type KindForm, type Verb } from '../../api/kind/kind.ts';
import { takeStoredMetadata } from '../../api/kind/meta.ts';
import { statusOnly } from '../../api/kind/reset-fields.ts';
import type { ScalePaths } from '../../api/kind/scale-paths.ts';
import { type Subresource, scale, status } from '../../api/kind/subresource.ts';
import {
  definitionCondition,
  storageVersionOf,
} from '../../api/kinds/apiextensions/custom-resource-definition.ts';
import type { CompiledSchema, Schema } from '../../api/model/json-schema.ts';
import { type Model, type ModelDefinition, modelsOf } from '../../api/model/model.ts';
import { valueAt } from '../../api/text/json-path.ts';
import { type ApiObject, cloneJson, type JsonObject } from '../../api/text/object.ts';
import { compareVersions } from '../../api/values/version-order.ts';
import { preparedForm } from '../../registry/verbs/conversion.ts';
import type { HookCaller } from '../calls/hook-client.ts';
import { customErrors } from './custom-rules.ts';
import { digestOf } from './digest.ts';
import { printerColumns } from './printer-columns.ts';
import { webhookConversion } from './webhook-conversion.ts';

/** Verbs in the order in which Kubernetes lists them for custom kinds. */
const verbs: readonly Verb[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];
const lastVerbs: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'watch'];

/** Functions that custom kinds need beyond their definition. */
export interface KindTools {
  readonly hooks: HookCaller;
  /** A new uid. */
  readonly uid: () => string;
  /** Whether what is wrong with unchanged values of objects may stay so. Default: true. */
  readonly ratchets?: boolean;
}

/**
 * The kinds of a definition whose names are accepted, one for each version. Versions that are not served are hidden
 * kinds: objects may be stored in them, and managed fields may refer to them.
 */
export function kindsOf(definition: CustomResourceDefinition, tools: KindTools): Kind[] {
  const stored = storageVersionOf(definition);
  const names = definition.status?.acceptedNames;
  if (!stored || !names?.plural || !names.kind) return [];
  const { strategy, webhook } = definition.spec?.conversion ?? {};
  const conversion = strategy === 'Webhook' && webhook ? webhookConversion(webhook, tools) : undefined;
  const storage = versionKind(definition, stored, names, undefined, conversion, tools);
  const others = (definition.spec?.versions ?? [])
    .filter((version) => version !== stored)
    .map((version) => versionKind(definition, version, names, storage, conversion, tools));
  return [storage, ...others].sort((a, b) => compareVersions(a.version, b.version));
}

function versionKind(
  definition: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  names: CustomResourceDefinitionNames,
  storage: Kind | undefined,
  conversion: Conversion | undefined,
  { ratchets = true }: KindTools,
): Kind {
  const { spec = {}, metadata } = definition;
  const { group = '' } = spec;
  const schema = compileSchema((version.schema?.openAPIV3Schema ?? {}) as Schema);
  const scalePaths = scalePathsOf(version);
  const isTerminating = definitionCondition(definition, 'Terminating')?.status === 'True';
  const rules = customErrors({ schema, scale: scalePaths, ratchets });
  const form: KindForm<ApiObject> = {
    custom: true,
    kind: names.kind!,
    listKind: names.listKind || `${names.kind}List`,
    resource: names.plural!,
    singular: names.singular || names.kind!.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    group,
    version: version.name!,
    model: thinModel(group, names, version),
    namespaced: spec.scope === 'Namespaced',
    incarnation: metadata.uid,
    edition: digestOf([version.schema, spec.conversion]),
    hidden: !version.served,
    verbs: isTerminating ? lastVerbs : verbs,
    subresources: subresourcesOf(version, scalePaths, rules),
    generationOf: 'content',
    versionRequired: true,
    ...(isTerminating
      ? { createRefusal: 'create not allowed while custom resource definition is terminating' }
      : {}),
    ...deprecationOf(definition, version, names),
    conversion,
    ...(storage ? { stored: conversion ? convertedTo(storage) : renamed(storage, schema) } : {}),
    prune(object, unknown) {
      unknown.push(...schema.prune(object as unknown as JsonObject));
    },
    pruneApplied: (object) => void schema.prune(object as unknown as JsonObject, 'applied'),
    refresh: (object) => shape(schema, object),
    defaults: (object) => schema.applyDefaults(object as unknown as JsonObject),
    // The status that was sent is dropped; a status with a default is set from the start.
    prepareForCreate(object) {
      dropUnset(object);
      schema.applyDefaults(object as unknown as JsonObject);
    },
    prepareForUpdate: dropUnset,
    examine: (object, old) => rules.examine(object, old),
    validate: rules.validate,
    validationWarnings: rules.validationWarnings,
    warnings: rules.warnings,
    ...selectable(version),
    ...printerColumns(version),
  };
  return defineKind(form);
}

/**
 * Removes keys whose value is undefined: the write steps unset parts that way, and the schema would treat them as null.
 */
function dropUnset(object: ApiObject): void {
  const fields = object as unknown as JsonObject;
  for (const name of Object.keys(fields)) if (fields[name] === undefined) delete fields[name];
}

/** Applies the schema to a stored object, which may have been written with another one. */
function shape(schema: CompiledSchema, object: ApiObject): void {
  schema.prune(object as unknown as JsonObject, 'stored');
  schema.applyDefaults(object as unknown as JsonObject);
}

type Stored = NonNullable<KindForm<ApiObject>['stored']>;

/** Conversion by a webhook, which was called before (`registry/verbs/conversion.ts`). */
const convertedTo = (storage: Kind): Stored => ({
  kind: storage,
  toStored(object) {
    const stored = preparedForm(object);
    storage.refresh!(stored);
    return stored;
  },
  fromStored(object) {
    return object;
  },
});

/** Conversion without a webhook: changes the version, and drops fields that it does not know. */
function renamed(storage: Kind, schema: CompiledSchema): Stored {
  return {
    kind: storage,
    toStored(object) {
      const stored = cloneJson(object) as ApiObject;
      storage.refresh!(stored);
      return stored;
    },
    fromStored(object) {
      shape(schema, object);
      return object;
    },
  };
}

function scalePathsOf({ subresources }: CustomResourceDefinitionVersion): ScalePaths | undefined {
  if (!subresources?.scale) return undefined;
  const { specReplicasPath = '', statusReplicasPath = '', labelSelectorPath } = subresources.scale;
  return { spec: specReplicasPath, status: statusReplicasPath, selector: labelSelectorPath };
}

function subresourcesOf(
  { subresources }: CustomResourceDefinitionVersion,
  paths: ScalePaths | undefined,
  rules: ReturnType<typeof customErrors>,
): Subresource[] {
  const ofStatus = {
    prepare(object: ApiObject, old: ApiObject) {
      dropUnset(object);
      takeStoredMetadata(object, old);
    },
    examine: (object: ApiObject, old: ApiObject) => rules.examine(object, old, 'status'),
    validate: rules.validateStatus,
    resets: statusOnly,
  };
  return [...(subresources?.status ? [status(ofStatus)] : []), ...(paths ? [scale({ paths })] : [])];
}

function deprecationOf(
  { spec = {} }: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  { kind }: CustomResourceDefinitionNames,
): { deprecation?: string } {
  if (!version.deprecated) return {};
  const better = (spec.versions ?? [])
    .filter(({ served, deprecated }) => served && !deprecated)
    .map(({ name }) => name!)
    .filter((name) => compareVersions(name, version.name!) < 0)
    .sort(compareVersions)[0];
  const text = `${spec.group}/${version.name} ${kind} is deprecated`;
  const instead = better === undefined ? '' : `; use ${spec.group}/${better} ${kind}`;
  return { deprecation: version.deprecationWarning ?? text + instead };
}

function selectable({ selectableFields = [] }: CustomResourceDefinitionVersion) {
  const fields: Record<string, (object: ApiObject) => string> = {};
  for (const { jsonPath = '' } of selectableFields) {
    const name = jsonPath.replace(/^\./, '');
    const names = name.split('.');
    fields[name] = (object) => scalarText(valueAt(object, names));
  }
  return {
    selectableFields: fields,
    unknownField: (path: string) => `field label not supported: ${path}`,
    otherField: (object: ApiObject, path: string) => scalarText(valueAt(object, path.split('.'))),
  };
}

const scalarText = (value: unknown): string =>
  value === undefined || value === null || typeof value === 'object' ? '' : String(value);

/** The model, and what OpenAPI documents show of the kind. */
function thinModel(
  group: string,
  { kind = '', listKind }: CustomResourceDefinitionNames,
  { name: version, schema, selectableFields = [] }: CustomResourceDefinitionVersion,
): Model {
  const definition: ModelDefinition = {
    order: ['kind', 'apiVersion', 'metadata'],
    fields: {
      kind: { type: 'string' },
      apiVersion: { type: 'string' },
      metadata: { ref: 'core-v1:ObjectMeta', empty: 'zero' },
    },
    open: true,
    custom: {
      schema: schema?.openAPIV3Schema as Schema | undefined,
      listKind: listKind || `${kind}List`,
      selectableFields: selectableFields.map(({ jsonPath = '' }) => jsonPath.replace(/^\./, '')),
    },
  };
  return modelsOf({ apiVersion: `${group}/${version}`, models: { [kind]: definition } })(kind);
}
