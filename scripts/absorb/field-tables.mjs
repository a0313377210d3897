/** Field tables: as a checkout of Kubernetes declares them, and as they are in our files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEnums, readGoPackage, readMessages } from './go-source.mjs';

const metaFolder = 'staging/src/k8s.io/apimachinery/pkg/apis/meta/v1';
/** Where the types of a table are, when it is not `staging/src/k8s.io/api/<word>/<version>`. */
const otherFolders = {
  apiextensions: 'staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions',
  apiregistration: 'staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration',
};
const otherPackages = {
  apiextensions: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  apiregistration: 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
};
const metaPackage = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const basic = {
  bool: { type: 'boolean' },
  float64: { type: 'number', format: 'double' },
  int: { type: 'integer', format: 'int32' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  string: { type: 'string' },
};

/** Types of other packages, and how they are written when nothing is set. */
const valueTypes = {
  Time: [{ type: 'string', format: 'date-time' }, 'null'],
  MicroTime: [{ type: 'string', format: 'date-time', micro: true }, 'null'],
  Quantity: [{ type: 'quantity' }, 'zero'],
  IntOrString: [{ type: 'int-or-string' }, 'zero'],
  RawExtension: [{ raw: true }, 'null'],
  FieldsV1: [{ raw: true }, undefined],
  JSON: [{ raw: true }, 'null'],
  JSONSchemaPropsOrArray: [{ raw: true }, 'null'],
  JSONSchemaPropsOrBool: [{ raw: true }, 'null'],
  JSONSchemaPropsOrStringArray: [{ raw: true }, 'null'],
  Duration: [{ type: 'string' }, 'zero'],
  UID: [{ type: 'string' }, undefined],
  NodeName: [{ type: 'string' }, undefined],
};

const enumsFile = 'pkg/generated/openapi/zz_generated.openapi.go';

/**
 * The tables of all versions in a checkout, by name: `{ 'apps-v1': { models, types } }`. `types` names all that the source
 * declares: documents show no model for some of them.
 */
export function readTables(folder) {
  const definitions = readDefinitions(folder);
  const enums = readEnums(join(folder, enumsFile));
  const tables = {};
  for (const [name, place] of tableFolders(folder)) {
    const [word, version] = name.split('-');
    const known = otherPackages[word];
    const sources = [
      {
        place,
        shown: `${known ?? `io.k8s.api.${word}`}.${version}`,
        described: `${known ? 'pkg_apis' : 'k8sio_api'}_${word}_${version}`,
      },
      ...(name === 'core-v1'
        ? [{ place: metaFolder, shown: metaPackage, described: 'pkg_apis_meta_v1' }]
        : []),
    ];
    const models = {};
    const types = new Set();
    for (const { place: at, shown, described } of sources) {
      const go = readGoPackage(join(folder, at));
      if (!go) continue;
      for (const type of [...go.structs.keys(), ...go.names.keys()]) types.add(type);
      const source = { go, proto: readMessages(join(folder, at, 'generated.proto')), enums, described };
      for (const model of go.structs.keys()) {
        const definition = definitions.get(`${shown}.${model}`);
        // Documents show what is sent; values of several types have no fields.
        if (definition && !valueTypes[model]) models[model] ??= modelOf(source, model, definition);
      }
    }
    if (types.size) tables[name] = { models, types };
  }
  return tables;
}

function* tableFolders(folder) {
  const api = join(folder, 'staging/src/k8s.io/api');
  const folders = (path) =>
    existsSync(path)
      ? readdirSync(path, { withFileTypes: true })
          .filter((entry) => entry.isDirectory())
          .map(({ name }) => name)
      : [];
  for (const word of folders(api))
    for (const version of folders(join(api, word)))
      if (word !== 'testdata' && /^v\d/.test(version))
        yield [`${word}-${version}`, `staging/src/k8s.io/api/${word}/${version}`];
  for (const [word, place] of Object.entries(otherFolders))
    for (const version of folders(join(folder, place)))
      if (/^v\d/.test(version)) yield [`${word}-${version}`, `${place}/${version}`];
}

/** Schemas of all models, by their full names. Those of version 3 have defaults. */
function readDefinitions(folder) {
  const place = join(folder, 'api/openapi-spec/v3');
  const found = new Map();
  if (!existsSync(place)) return found;
  for (const name of readdirSync(place).filter((one) => one.endsWith('.json')))
    for (const [model, schema] of Object.entries(
      JSON.parse(readFileSync(join(place, name), 'utf8')).components?.schemas ?? {},
    ))
      found.set(model, schema);
  return found;
}

function modelOf(source, model, schema) {
  const fields = {};
  const order = [];
  const add = (struct, numbers) => {
    for (const field of source.go.structs.get(struct) ?? []) {
      const bare = field.type.replace(/^\*/, '').replace(/^\w+\./, '');
      if (field.options.includes('inline') || field.name === '') {
        if (bare === 'TypeMeta') order.push('kind', 'apiVersion');
        else add(bare, field.number ? [...numbers, field.number] : numbers);
        continue;
      }
      const shown = schema.properties?.[field.name];
      if (!shown) continue;
      order.push(field.name);
      fields[field.name] = fieldOf(source, struct, field, numbers, shown);
    }
  };
  add(model, []);
  for (const name of ['kind', 'apiVersion']) if (order.includes(name)) fields[name] ??= { type: 'string' };
  return { required: schema.required ?? [], order, fields, mapType: schema['x-kubernetes-map-type'] };
}

function fieldOf(source, struct, field, numbers, shown) {
  const { go, proto, enums, described: prefix } = source;
  const isPointer = field.type.startsWith('*');
  const bare = field.type.replace(/^\*/, '');
  const [type, whenUnset] = typeOf(go, bare);
  const omits = field.options.includes('omitempty');
  const described = {
    ...type,
    ...(isPointer ? { ptr: true } : {}),
    ...emptyOf({ isPointer, type, whenUnset, omits, zero: field.options.includes('omitzero') }),
    ...(shown['x-kubernetes-list-type'] ? { listType: shown['x-kubernetes-list-type'] } : {}),
    ...(shown['x-kubernetes-list-map-keys'] ? { listKeys: shown['x-kubernetes-list-map-keys'] } : {}),
    ...(shown['x-kubernetes-map-type'] ? { mapType: shown['x-kubernetes-map-type'] } : {}),
    ...(shown['x-kubernetes-patch-merge-key']
      ? { patchMergeKey: shown['x-kubernetes-patch-merge-key'] }
      : {}),
    ...(shown['x-kubernetes-patch-strategy'] ? { patchStrategy: shown['x-kubernetes-patch-strategy'] } : {}),
  };
  const values = enums.get(`${prefix}_${struct}.${field.name}`);
  if (values) described.enum = values;
  if (field.number) described.pb = [...numbers, field.number, proto.get(struct)?.get(field.number) ?? '?'];
  const gate = field.markers.map((marker) => /^\+featureGate=(\w+)/.exec(marker)?.[1]).find(Boolean);
  if (gate) described.gate = gate;
  const isZero = JSON.stringify(shown.default) === JSON.stringify(zeroOf(described));
  if (shown.default !== undefined && !(isZero && described.empty === 'zero'))
    described.default = shown.default;
  return described;
}

const zeroOf = ({ type, ref }) => (ref ? {} : { boolean: false, integer: 0, number: 0, string: '' }[type]);

function emptyOf({ isPointer, type, whenUnset, omits, zero }) {
  if (zero) return {};
  const isList = type.type === 'array' || type.type === 'map' || type.format === 'byte';
  if (isPointer || isList) return omits ? {} : { empty: 'null' };
  if (type.ref) return { empty: 'zero' };
  if (type.format === 'date-time' || type.type === 'quantity' || type.type === 'int-or-string')
    return { empty: whenUnset };
  if (type.raw) return whenUnset && !omits ? { empty: whenUnset } : {};
  return omits ? {} : { empty: 'zero' };
}

/** What a Go type is in a table, and how it is written when it is unset, if that is special. */
function typeOf(go, written) {
  const list = /^\[\](.+)$/.exec(written);
  if (written === '[]byte') return [{ type: 'string', format: 'byte' }];
  if (list) return [{ type: 'array', items: typeOf(go, list[1].replace(/^\*/, ''))[0] }];
  const map = /^map\[[\w.]+\](.+)$/.exec(written);
  if (map) return [{ type: 'map', values: typeOf(go, map[1].replace(/^\*/, ''))[0] }];
  const [name, prefix] = written.split('.').reverse();
  if (!prefix && basic[name]) return [basic[name]];
  if (valueTypes[name]) return valueTypes[name];
  if (!prefix && go.names.has(name)) return typeOf(go, go.names.get(name));
  if (!prefix && go.structs.has(name)) return [{ ref: name }];
  return [foreign(name, prefix)];
}

/** Types of texts that other packages declare; their structs are named with the table they are in. */
const textsElsewhere =
  /^(ConditionStatus|ResourceName|Protocol|PullPolicy|TaintEffect|TolerationOperator|PersistentVolume\w*(Mode|Policy)|PreemptionPolicy|LabelSelectorOperator|DeletionPropagation|\w+Type|StatusReason|FinalizerName|NodeSelectorOperator|QualifiedName)$/;

function foreign(name, prefix) {
  if (textsElsewhere.test(name)) return { type: 'string' };
  if (name === 'ExtraValue') return { type: 'array', items: { type: 'string' } };
  if (name === 'ResourceList') return { type: 'map', values: { type: 'quantity' } };
  return { ref: /^(core|meta)?v1$|^v1$/.test(prefix ?? '') ? `core-v1:${name}` : `${prefix ?? ''}:${name}` };
}
