/** Reads what a folder of Go source says about types: structs with their fields, and other types by name. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} GoField
 * @property {string} name in JSON; '' for an embedded struct
 * @property {string} type as it is written, `*metav1.Time`
 * @property {readonly string[]} options of the JSON tag: omitempty, omitzero, inline
 * @property {number | undefined} number of the protobuf field
 * @property {readonly string[]} markers lines of its comment that begin with a plus
 *
 * @typedef {object} GoPackage
 * @property {Map<string, GoField[]>} structs
 * @property {Map<string, string>} names other types, with what they are made of: `Phase` is `string`
 */

/** The files that declare an API's types. */
const isSource = (name) => /^(types(_\w+)?|watch)\.go$/.test(name) && !name.endsWith('_test.go');

/** @returns {GoPackage | undefined} */
export function readGoPackage(folder) {
  if (!existsSync(folder)) return undefined;
  const read = { structs: new Map(), names: new Map() };
  for (const name of readdirSync(folder).filter(isSource).sort())
    readGoText(readFileSync(join(folder, name), 'utf8'), read);
  return read;
}

/** Adds what a file says. */
function readGoText(text, read) {
  let markers = [];
  let struct;
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    if (line.startsWith('//')) {
      const marker = /^\/\/\s*(\+.*)$/.exec(line);
      if (marker) markers.push(marker[1]);
      continue;
    }
    const opened = /^type (\w+) struct ?\{ ?(\})?$/.exec(line);
    const named = /^type (\w+) =? ?([\w.[\]*]+)$/.exec(line);
    if (struct && line === '}') struct = undefined;
    else if (struct) struct.push(...fieldsOf(line, markers));
    else if (opened) {
      const fields = [];
      read.structs.set(opened[1], fields);
      if (!opened[2]) struct = fields;
    } else if (named) read.names.set(named[1], named[2]);
    if (line) markers = [];
  }
}

/** @returns {GoField[]} one field, or nothing for a line that declares none */
function fieldsOf(line, markers) {
  const matched = /^(?:(\w+)\s+)?([\w.[\]*]+)\s+`([^`]*)`/.exec(line);
  if (!matched) return [];
  const tags = Object.fromEntries(
    [...matched[3].matchAll(/(\w+):"([^"]*)"/g)].map(([, key, value]) => [key, value]),
  );
  const [name = '', ...options] = (tags.json ?? '').split(',');
  if (name === '-') return [];
  const number = Number((tags.protobuf ?? '').split(',')[1]);
  return [{ name, type: matched[2], options, number: number || undefined, markers: [...markers] }];
}

/** Numbers and types of the fields of messages, as generated.proto has them. */
export function readMessages(path) {
  const messages = new Map();
  if (!existsSync(path)) return messages;
  let fields;
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const opened = /^message (\w+) \{/.exec(line);
    if (opened) messages.set(opened[1], (fields = new Map()));
    const field = /^\s+(?:(optional|repeated) )?(map<[^>]+>|[\w.]+) \w+ = (\d+);/.exec(line);
    if (field && fields) {
      const short = field[2].replace(/[\w.]*\.(\w+)/g, '$1').replace(/,\s+/g, ',');
      fields.set(Number(field[3]), field[1] === 'repeated' ? `repeated ${short}` : short);
    }
  }
  return messages;
}

/** Closed sets of values, by the function that describes a model and the field: `k8sio_api_core_v1_Container.imagePullPolicy`. */
export function readEnums(path) {
  const enums = new Map();
  if (!existsSync(path)) return enums;
  let model = '';
  let field = '';
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const opened = /^func schema_(\w+)\(ref/.exec(line);
    const member = /^\t{5}"([^"]+)": \{$/.exec(line);
    const values = /Enum:\s*\[\]interface\{\}\{(.*)\}/.exec(line);
    if (opened) model = opened[1];
    else if (member) field = member[1];
    else if (values) enums.set(`${model}.${field}`, JSON.parse(`[${values[1]}]`));
  }
  return enums;
}
