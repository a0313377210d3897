/** Compares a checkout of Kubernetes with our tables. A finding is a line for people, with what it is about. */

/** What tables say that a checkout says as well; other keys are ours. */
export const compared = [
  'type',
  'format',
  'ref',
  'items',
  'values',
  'ptr',
  'empty',
  'micro',
  'pb',
  'gate',
  'off',
  'enum',
  'default',
  'listType',
  'listKeys',
  'mapType',
  'patchStrategy',
  'patchMergeKey',
];

const sorted = (value) =>
  value && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
const text = (value) => (value === undefined ? 'nothing' : JSON.stringify(sorted(value)));

/** References to the core's table are short inside of it, and structs of other versions have their own names. */
const plain = (value) =>
  value === undefined
    ? undefined
    : JSON.parse(JSON.stringify(sorted(bare(value))).replaceAll('core-v1:', ''));

/** A value of any type is just that; what it may be is ours. */
const bare = (value) => (value?.raw ? { raw: true } : value);

/** Whether a key of a field says the same here and there. */
export const isSame = (one, other) => text(plain(one)) === text(plain(other));

/**
 * @param theirs what the checkout has: `{ tables, resources, gates, columns, lifecycle }`
 * @param ours the same of this project
 * @param known findings that are on purpose, by their lines, with the reasons
 * @returns {{ subject: string, about: string, line: string }[]}
 */
export function compare(theirs, ours, known = {}) {
  const findings = [];
  const find = (subject, about, line) => findings.push({ subject, about, line: `${about}: ${line}` });
  compareTables(theirs.tables, ours.tables, find);
  compareResources(theirs, ours, find);
  compareGates(theirs.gates, ours.gates, find);
  for (const [kind, columns] of Object.entries(theirs.columns)) {
    if (!ours.columns[kind] || text(ours.columns[kind]) === text(columns)) continue;
    find('columns', kind, `${text(columns)}, here ${text(ours.columns[kind])}`);
  }
  return findings.filter(({ line }) => !Object.hasOwn(known, line));
}

function compareTables(theirs, ours, find) {
  const shared = ours['core-v1']?.models ?? {};
  const everywhere = new Set(Object.values(theirs).flatMap(({ types }) => [...types]));
  for (const [table, { models, types }] of Object.entries(theirs)) {
    const own = ours[table];
    if (!own) {
      if (Object.keys(models).length)
        find('versions', table, `new, with ${Object.keys(models).length} models`);
      continue;
    }
    for (const [name, model] of Object.entries(models)) {
      // Some models of other groups are in the core's table, because kinds of the core use them.
      const mine = own.models[name] ?? (theirs['core-v1']?.types.has(name) ? undefined : shared[name]);
      if (mine) compareModel(`${table} ${name}`, model, mine, find);
      else find('models', `${table} ${name}`, `new: ${Object.keys(model.fields).join(', ')}`);
    }
    for (const name of Object.keys(own.models))
      if (!types.has(name) && !(table === 'core-v1' && everywhere.has(name)))
        find('removed', `${table} ${name}`, 'the model is gone');
  }
}

function compareModel(about, model, own, find) {
  for (const [name, field] of Object.entries(model.fields)) {
    const mine = own.fields[name];
    if (!mine) {
      find('fields', `${about}.${name}`, `new: ${text(field)}`);
      const guard = field.gate ? `behind the gate ${field.gate}` : 'without a gate';
      find('behaviour', `${about}.${name}`, `what it does, its default and its rules; ${guard}`);
      continue;
    }
    for (const key of compared) {
      if (isRaw(mine) && ['type', 'empty', 'items', 'values'].includes(key)) continue;
      if (!isSame(field[key], mine[key]))
        find('changed', `${about}.${name}`, `${key} is ${text(field[key])}, here ${text(mine[key])}`);
    }
  }
  for (const [name, { only11 }] of Object.entries(own.fields))
    if (!model.fields[name] && !only11) find('removed', `${about}.${name}`, 'the field is gone');
  const required = (list = []) => [...list].sort().join(' ');
  if (required(model.required) !== required(own.required))
    find('changed', about, `required is [${required(model.required)}], here [${required(own.required)}]`);
  const order = (list, fields) => list.filter((name) => fields[name] && !fields[name].only11).join(' ');
  if (order(model.order, own.fields) !== order(own.order, model.fields))
    find(
      'changed',
      about,
      `the order is ${order(model.order, own.fields)}, here ${order(own.order, model.fields)}`,
    );
}

const isRaw = ({ raw, union }) => raw || union !== undefined;

function compareResources({ resources, lifecycle }, ours, find) {
  for (const [version, listed] of Object.entries(resources)) {
    const own = ours.resources[version];
    if (!own) {
      find('versions', version, `not served here: ${Object.keys(listed).join(', ')}`);
      continue;
    }
    for (const [name, described] of Object.entries(listed)) {
      const mine = own[name];
      if (!mine) find('kinds', `${version} ${name}`, `new: ${described.kind}, ${described.verbs.join(' ')}`);
      else
        for (const key of ['kind', 'namespaced', 'singularName', 'verbs', 'shortNames', 'categories'])
          if (text(described[key]) !== text(mine[key]))
            find(
              'changed',
              `${version} ${name}`,
              `${key} is ${text(described[key])}, here ${text(mine[key])}`,
            );
    }
    for (const name of Object.keys(own))
      if (!listed[name]) find('removed', `${version} ${name}`, 'not served any more');
  }
  for (const version of Object.keys(ours.resources))
    if (!resources[version]) find('removed', version, 'not served any more');
  for (const [table, kinds] of Object.entries(lifecycle))
    if (ours.tables[table])
      for (const [kind, { deprecated, removed }] of Object.entries(kinds))
        if (ours.tables[table].models[kind] && !kind.endsWith('List'))
          find(
            'behaviour',
            `${table} ${kind}`,
            `deprecated in ${deprecated ?? '?'}, removed in ${removed ?? '?'}`,
          );
}

function compareGates(theirs, ours, find) {
  const lists = ({ on, locked }) => (locked ? (on ? 'on' : 'off') : 'free');
  for (const [name, gate] of Object.entries(theirs)) {
    const here = ours[name];
    const there = lists(gate);
    if (!here)
      find('gates', name, `new: ${gate.stage}, ${gate.on ? 'on' : 'off'}${gate.locked ? ', locked' : ''}`);
    else if (here !== there) find('gates', name, `now in the list "${there}", here in "${here}"`);
  }
  for (const name of Object.keys(ours)) if (!theirs[name]) find('gates', name, 'gone');
}
