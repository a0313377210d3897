/**
 * The models of a minor: those of the built-in tables, without the fields that came later, with those that have gone
 * since, and with what documents said of a field then. A model that is the same in this minor, with all it refers to, is
 * the built-in one itself, so that its compiled code is shared.
 */
import { builtinModels, type FieldDefinition, Model, type ModelDefinition, Models } from '../model/model.ts';
import { type FieldRow, formerTables, holds, minorOf, valueAt, versionTables } from './version-tables.ts';

const { types, openapi, values } = versionTables;

/** `networking-v1-ingress` → `networking-v1`; tables of the same version share its rows. */
const versionOf = (table: string): string => table.split('-').slice(0, 2).join('-');

/** `apps/v1` → `apps-v1`. */
function tableOf(apiVersion: string): string {
  const [version, group = 'core'] = apiVersion.split('/').reverse() as [string, string?];
  return `${group.split('.')[0]}-${version}`;
}

/** The rows of a table by its name, `apps-v1`. */
const rowsOf = new Map(Object.keys(types).map((apiVersion) => [tableOf(apiVersion), types[apiVersion]!]));

/** Models that the core's table holds for other groups: shared ones, and bodies of subresources. */
const besidesCore: readonly string[] = ['meta/v1', 'policy/v1', 'authentication.k8s.io/v1'];

/** The tables that may hold models of a version. */
const tablesOf = (apiVersion: string): string[] => [
  tableOf(apiVersion),
  ...(besidesCore.includes(apiVersion) ? ['core-v1'] : []),
];

function typeRow(table: string, name: string) {
  const own = rowsOf.get(versionOf(table))?.[name];
  if (own || table !== 'core-v1') return own;
  return besidesCore.map((apiVersion) => types[apiVersion]?.[name]).find((row) => row !== undefined);
}

/** What documents changed of a model: what a field, or with '' the model, said before and after, by attribute. */
type ModelChange = (typeof openapi)[string][string];

/** What documents changed after a minor, from the newest change to the oldest, by table and model: `core-v1:Pod`. */
function changesAfter(minor: number): Map<string, ModelChange[]> {
  const changes = new Map<string, ModelChange[]>();
  const newestFirst = Object.keys(openapi).sort((a, b) => minorOf(b) - minorOf(a));
  for (const version of newestFirst.filter((one) => minorOf(one) > minor))
    for (const [model, change] of Object.entries(openapi[version]!)) {
      const [apiVersion, name] = model.split(':') as [string, string];
      for (const table of tablesOf(apiVersion)) {
        const id = `${table}:${name}`;
        changes.set(id, [...(changes.get(id) ?? []), change]);
      }
    }
  return changes;
}

/** Attributes that say nothing new when they are first written down: such lists were merged by their key before. */
const onlyDocumented: ReadonlySet<string> = new Set(['listType', 'listKeys']);

/** Values of string types that a minor does not have, by type: `PersistentVolumeMode`. */
function missingValues(minor: number): Map<string, ReadonlySet<string>> {
  const missing = new Map<string, ReadonlySet<string>>();
  for (const inGroup of Object.values(values))
    for (const [type, intervals] of Object.entries(inGroup)) {
      const names = Object.keys(intervals).filter((name) => !holds(intervals[name]!, minor));
      if (names.length) missing.set(type, new Set([...(missing.get(type) ?? []), ...names]));
    }
  return missing;
}

/** Gates without which more than the field is dropped: it is read, and what holds it is dropped with it. */
const seenWhenOff: ReadonlySet<string> = new Set(['ImageVolume', 'CrossNamespaceVolumeDataSource']);

/** Models that had another name, which a field refers to. */
const formerNames: Readonly<Record<string, string>> = { 'core-v1:Handler': 'core-v1:LifecycleHandler' };

/** The models of today and of all versions that were served. */
export const wholeModels = new Models(formerTables.tables, builtinModels);

export class MinorModels extends Models {
  readonly #known = new Map<string, Model | undefined>();
  readonly #definitions = new Map<string, ModelDefinition | undefined>();
  /** Whether a model differs from the built-in one, itself or in what it refers to. */
  readonly #isOther = new Map<string, boolean>();
  readonly #changes: ReturnType<typeof changesAfter>;
  readonly #missing: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(
    private readonly minor: number,
    /** What the user says of a gate; undefined: nothing. */
    private readonly gate: (name: string) => boolean | undefined,
  ) {
    super({});
    this.#changes = changesAfter(minor);
    this.#missing = missingValues(minor);
  }

  override find(ref: string, file = 'core-v1'): Model | undefined {
    const id = ref.includes(':') ? ref : `${file}:${ref}`;
    if (!this.#known.has(id)) this.#known.set(id, this.#make(id));
    return this.#known.get(id);
  }

  #make(id: string): Model | undefined {
    const [file, name] = id.split(':') as [string, string];
    if (!this.#differs(id)) return wholeModels.find(name, file);
    const definition = this.#definition(id);
    return definition && new Model(name, file, definition, this);
  }

  #differs(id: string): boolean {
    const known = this.#isOther.get(id);
    if (known !== undefined) return known;
    const seen = new Set([id]);
    let isOther = false;
    for (const one of seen) {
      const [file, name] = one.split(':') as [string, string];
      const definition = this.#definition(one);
      isOther = definition !== wholeModels.find(name, file)?.definition || this.#isOther.get(one) === true;
      if (isOther) break;
      for (const field of Object.values(definition?.fields ?? {}))
        for (const ref of refsOf(field)) seen.add(ref.includes(':') ? ref : `${file}:${ref}`);
    }
    for (const one of isOther ? [id] : seen) this.#isOther.set(one, isOther);
    return isOther;
  }

  #definition(id: string): ModelDefinition | undefined {
    if (!this.#definitions.has(id)) {
      const [file, name] = (formerNames[id] ?? id).split(':') as [string, string];
      const built =
        wholeModels.find(name, file)?.definition ?? formerTables.gone[versionOf(file)]?.models?.[name];
      this.#definitions.set(id, built && this.#changed(file, name, built));
    }
    return this.#definitions.get(id);
  }

  #changed(file: string, name: string, built: ModelDefinition): ModelDefinition {
    const rows = typeRow(file, name)?.fields ?? {};
    const fields: Record<string, FieldDefinition> = {};
    let isChanged = false;
    const take = (field: string, from: FieldDefinition): void => {
      const now = this.#field(from, rows[field] ?? {});
      if (now) fields[field] = now;
      if (now !== from) isChanged = true;
    };
    for (const [field, definition] of Object.entries(built.fields)) take(field, definition);
    for (const [field, { last, ...definition }] of Object.entries(
      formerTables.gone[versionOf(file)]?.fields?.[name] ?? {},
    ))
      if (last === undefined || minorOf(last) >= this.minor) {
        take(field, definition);
        isChanged = true;
      }
    const changed = {
      ...built,
      fields,
      order: [...built.order, ...Object.keys(fields)].filter(
        (field, i, all) => field in fields && all.indexOf(field) === i,
      ),
      ...(built.required ? { required: built.required.filter((field) => field in fields) } : {}),
    };
    return this.#asDocumented(file, name, changed) || isChanged ? changed : built;
  }

  /** undefined: this minor does not know the field. */
  #field(field: FieldDefinition, row: FieldRow): FieldDefinition | undefined {
    if (field.only11 || !holds(row, this.minor)) return undefined;
    let now = field;
    const gate = row.gate ?? field.gate;
    if (gate !== undefined) {
      const off = !row.whenOff && !(this.gate(gate) ?? !isOffAt(row, field, this.minor));
      if (off !== (field.off === true)) now = { ...now, off };
      // What the server itself writes there is not shown.
      if (off) now = { ...now, off: !seenWhenOff.has(gate), unwritten: true };
    }
    if (row.empty) {
      const empty = valueAt(row.empty, this.minor) ?? undefined;
      if (empty !== field.empty) {
        const { empty: _, ...rest } = now;
        now = { ...rest, ...(empty ? { empty } : {}) };
      }
    }
    const ref = row.model && refTo(valueAt(row.model, this.minor));
    if (ref !== undefined && ref.split(':')[1] !== field.ref?.split(':').at(-1)) now = { ...now, ref };
    return this.#withValues(now);
  }

  #withValues(field: FieldDefinition): FieldDefinition {
    const missing = this.#missing.get(String(field.pb?.at(-1)).replace(/^repeated /, ''));
    const without = (list: string[] | undefined) => list?.filter((value) => !missing?.has(value));
    if (!missing || without(field.enum)?.length === field.enum?.length) return field;
    return { ...field, enum: without(field.enum)! };
  }

  /** Takes back what documents changed later; returns whether there was something. */
  #asDocumented(file: string, name: string, model: ModelDefinition): boolean {
    let isChanged = false;
    for (const change of this.#changes.get(`${versionOf(file)}:${name}`) ?? [])
      for (const [field, attributes] of Object.entries(change))
        for (const [attribute, [before]] of Object.entries(attributes))
          if (takeBack(model, field, attribute, before)) isChanged = true;
    return isChanged;
  }
}

/** `networking.k8s.io/v1:IngressStatus` → `networking-v1:IngressStatus`. */
const refTo = (model: string | undefined): string | undefined =>
  model?.replace(/^(?:(.*)\/)?(.*):/, (_, group = 'core', version) => `${group.split('.')[0]}-${version}:`);

/** Whether the gate of a field is off by default. */
function isOffAt({ off, gate }: FieldRow, field: FieldDefinition, minor: number): boolean {
  if (gate === undefined) return field.off === true;
  if (off === undefined) return false;
  const [first, last = first] = off.split('-') as [string, string?];
  return minorOf(first) <= minor && minor <= minorOf(last!);
}

function takeBack(model: ModelDefinition, name: string, attribute: string, before: unknown): boolean {
  if (attribute === 'type') return false;
  if (name === '') {
    if (attribute !== 'mapType') return false;
    delete model.mapType;
    if (before === 'atomic') model.mapType = before;
    return true;
  }
  const field = model.fields[name];
  if (!field) return false;
  if (attribute === 'required') {
    const others = (model.required ?? []).filter((one) => one !== name);
    model.required = before ? [...others, name] : others;
  } else if (before === null && onlyDocumented.has(attribute))
    model.fields[name] = { ...field, unlisted: true };
  else {
    const { [attribute as keyof FieldDefinition]: _, ...rest } = field;
    model.fields[name] = { ...rest, ...(before === null ? {} : { [attribute]: before }) };
  }
  return true;
}

const refsOf = ({ ref, items, values: inner, union }: FieldDefinition): string[] => [
  ...(ref === undefined ? [] : [ref]),
  ...(union ? [union[0]!] : []),
  ...(items ? refsOf(items) : []),
  ...(inner ? refsOf(inner) : []),
];
