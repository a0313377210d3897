/**
 * Kinds that a minor has and today's tables lack: versions that have gone, and those that are off by default. One that
 * became a version of today is stored as that, and has its rules by way of the conversion; any other has none.
 */
import type { Change } from '../kind/change.ts';
import { defineKind, type Kind, type KindForm, type Verb } from '../kind/kind.ts';
import { type Subresource, status } from '../kind/subresource.ts';
import { builtinKinds } from '../kinds/kinds.ts';
import { normalized } from '../model/encode.ts';
import type { Model } from '../model/model.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/shared/columns.ts';
import { type ApiObject, cloneJson, type JsonObject } from '../text/object.ts';
import { compareVersions } from '../values/version-order.ts';
import { sameShape, type VersionConversion } from './conversions/conversion.ts';
import { conversions, dropped } from './conversions/conversions.ts';
import { keepLost } from './kept-fields.ts';
import type { Minor } from './minor.ts';
import { wholeModels } from './minor-models.ts';
import { formerTables, type ResourceRow, versionTables } from './version-tables.ts';

/** The built-in kinds that all else is stored as, by group and resource: of several versions, the newest. */
const peers = new Map<string, Kind>();
for (const kind of builtinKinds) {
  const before = peers.get(kind.id);
  if (!before || compareVersions(kind.version, before.version) < 0) peers.set(kind.id, kind);
}

const tableOf = (apiVersion: string, kind: string): string | undefined =>
  Object.keys(formerTables.tables).find((name) => {
    const table = formerTables.tables[name]!;
    return table.apiVersion === apiVersion && Object.hasOwn(table.models, kind);
  });

const isBuiltin = (apiVersion: string, resource: string): boolean =>
  builtinKinds.some((kind) => kind.apiVersion === apiVersion && kind.resource === resource);

/** Made once for all clusters of this process. */
const made = new Map<string, Kind>();

/** The kinds to add to the built-in ones. */
export function formerKinds(minor: Minor): Kind[] {
  const kinds = new Set<Kind>();
  for (const { apiVersion, resource, row } of minor.rows()) {
    if (isBuiltin(apiVersion, resource)) continue;
    const kind = formerKind(apiVersion, resource, row);
    if (!kind) continue;
    kinds.add(kind);
    const { storage } = kind;
    // Known, because objects are stored as it, also where this minor does not serve it.
    if (!builtinKinds.includes(storage)) kinds.add(storage);
  }
  return [...kinds];
}

/** undefined: it is not stored, or its shape is not known. */
function formerKind(apiVersion: string, resource: string, row: ResourceRow): Kind | undefined {
  const key = `${apiVersion}/${resource}`;
  const known = made.get(key);
  if (known) return known;
  const table = tableOf(apiVersion, row.kind);
  if (table === undefined || !(row.verbs as readonly string[]).includes('list')) return undefined;
  const kind = define(apiVersion, resource, row, table);
  made.set(key, kind);
  return kind;
}

function define(apiVersion: string, resource: string, row: ResourceRow, table: string): Kind {
  const [version, group = ''] = apiVersion.split('/').reverse() as [string, string?];
  const names = {
    kind: row.kind,
    resource,
    singular: row.singular,
    shortNames: row.short ?? [],
    categories: row.categories ?? [],
    group,
    version,
    table,
    model: wholeModels.of(row.kind, table),
    namespaced: row.namespaced,
    verbs: row.verbs as readonly Verb[],
  };
  if (dropped.has(apiVersion)) return defineKind({ ...names, ...plainForm(row), incarnation: version });
  const conversion = conversions[`${apiVersion} ${row.kind}`] ?? sameShape;
  const peer = peers.get(`${group || 'core'}/${resource}`) ?? newest(apiVersion, resource);
  return defineKind({ ...names, ...(peer ? formBy(peer, names.model, conversion) : plainForm(row)) });
}

/** The newest version of a resource that is not built in, as which it is stored; undefined: this one is it. */
function newest(apiVersion: string, resource: string): Kind | undefined {
  const group = apiVersion.slice(0, apiVersion.lastIndexOf('/'));
  const [first] = Object.entries(versionTables.groupVersions)
    .filter(
      ([name, { resources }]) => name.startsWith(`${group}/`) && resources[resource] && !dropped.has(name),
    )
    .sort(([a], [b]) => compareVersions(a.slice(group.length + 1), b.slice(group.length + 1)));
  if (!first || first[0] === apiVersion) return undefined;
  return formerKind(first[0], resource, first[1].resources[resource]!);
}

const plainForm = ({ subresources }: ResourceRow): Partial<KindForm<ApiObject>> => ({
  subresources: subresources && 'status' in subresources ? [status()] : [],
  generationOf: 'spec',
  columns: [nameColumn, ageColumn],
  cells: (object) => [object.metadata.name ?? '', ageCell(object)],
});

/** The rules of a kind of today, for objects of another version of it. */
function formBy(peer: Kind, model: Model, conversion: VersionConversion): Partial<KindForm<ApiObject>> {
  const isSame = conversion === sameShape;
  const raise = (object: ApiObject): ApiObject =>
    isSame ? object : (conversion.up(cloneJson(object) as unknown as JsonObject) as unknown as ApiObject);
  const lower = (object: ApiObject): ApiObject =>
    isSame ? object : (conversion.down(object as unknown as JsonObject) as unknown as ApiObject);
  const raised = (object: ApiObject | undefined) => object && raise(object);
  /** A hook that changes the object it gets. */
  const changing =
    <A extends readonly unknown[]>(hook: ((object: ApiObject, ...more: A) => void) | undefined) =>
    (object: ApiObject, ...more: A): void => {
      if (!hook) return;
      const there = raise(object);
      hook(there, ...more);
      if (!isSame) become(object, lower(there));
    };
  const part = (sub: Subresource): Subresource =>
    isSame || !sub.change ? sub : { ...sub, change: changeBy(sub.change) };
  const changeBy = (change: Change): Change => ({
    ...change,
    prepare: (object, old, context) =>
      changing((there) => change.prepare?.(there, raise(old), context))(object),
    validate: (object, old) => change.validate?.(raise(object), raise(old)) ?? [],
    warnings: (object, old) => change.warnings?.(raise(object), raise(old)) ?? [],
  });
  return {
    nameRule: peer.nameRule,
    anyFinalizer: peer.anyFinalizer ?? false,
    createOnUpdate: peer.createOnUpdate ?? false,
    keepStatusOnCreate: peer.keepStatusOnCreate ?? false,
    ...(peer.generationOf ? { generationOf: peer.generationOf } : {}),
    deletion: peer.deletion,
    subresources: peer.subresources.map(part),
    stored: {
      kind: peer.storage,
      toStored: (object, old) => {
        const there = raise(object);
        if (old) {
          const before = peer.stored ? peer.stored.fromStored(cloneJson(old) as ApiObject) : old;
          const seen = normalized(model, lower(cloneJson(before) as ApiObject) as unknown as JsonObject);
          const visible = raise(seen as unknown as ApiObject);
          keepLost(
            there as unknown as JsonObject,
            before as unknown as JsonObject,
            visible as unknown as JsonObject,
          );
        }
        return peer.stored ? peer.stored.toStored(there, old) : there;
      },
      fromStored: (object) =>
        lower(
          peer.stored ? peer.stored.fromStored(object) : isSame ? object : (cloneJson(object) as ApiObject),
        ),
    },
    defaults: changing(peer.defaults && ((object) => peer.defaults!(object))),
    ...(peer.defaultsOfNew && { defaultsOfNew: changing((object) => peer.defaultsOfNew!(object)) }),
    ...(conversion.isKeptOnWrite
      ? {}
      : {
          prepareForCreate: (object, context) =>
            changing((there) => peer.prepareForCreate?.(there, context))(object),
          prepareForUpdate: (object, old, context) =>
            changing((there) => peer.prepareForUpdate?.(there, raise(old), context))(object),
        }),
    validate: (object, old) => peer.validate?.(raise(object), raised(old)) ?? [],
    validateUpdate: (object, old) => peer.validateUpdate?.(raise(object), raise(old)) ?? [],
    warnings: (object, old) => peer.warnings?.(raise(object), raised(old)) ?? [],
    selectableFields: Object.fromEntries(
      Object.entries(peer.selectableFields).map(([path, read]) => [path, (object) => read(raise(object))]),
    ),
    ...(peer.columns ? { columns: peer.columns } : {}),
    ...(peer.cells ? { cells: (object: ApiObject) => peer.cells!(raise(object)) } : {}),
  };
}

/** Makes an object the same as another. */
function become(object: ApiObject, other: ApiObject): void {
  const target = object as unknown as JsonObject;
  for (const name of Object.keys(target)) if (!(name in other)) delete target[name];
  Object.assign(object, other);
}
