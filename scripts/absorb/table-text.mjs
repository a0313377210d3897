/** Field tables as text: a line for each field, so that a review shows the fields that changed and no others. */
import { compared, isSame } from './comparison.mjs';

const json = JSON.stringify;
const members = (entries) => entries.map(([key, value]) => `${json(key)}:${json(value)}`);
const isObject = (value) => typeof value === 'object';

/** The text of a table, as it is in its file. */
export function tableText({ models, ...head }) {
  const plain = members(Object.entries(head).filter(([, value]) => !isObject(value))).join(',');
  const others = members(Object.entries(head).filter(([, value]) => isObject(value)));
  const parts = Object.entries(models).map(([name, model]) => `${json(name)}:{\n${modelText(model)}}`);
  return `{${[plain, ...others, `"models":{\n${parts.join(',\n')}\n}}`].join(',\n')}\n`;
}

function modelText({ fields, ...head }) {
  const lines = members(Object.entries(fields)).join(',\n');
  return [...members(Object.entries(head)), `"fields":{${lines && `\n${lines}`}}`].join(',\n');
}

const byName = (object) =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));

/**
 * Takes over what a checkout says of a table: new models and fields, and what changed of those that are there. Keys that
 * only this project has stay. Fields and models that are gone stay, too, because stored objects may have them: the list
 * of findings names them.
 * @param takes whether a new model belongs into this table
 */
export function absorbTable(own, theirs, takes) {
  const models = { ...own.models };
  for (const [name, model] of Object.entries(theirs.models)) {
    const mine = models[name];
    if (mine) models[name] = absorbModel(mine, model);
    else if (takes(name, model)) models[name] = newModel(model);
  }
  return { ...own, models };
}

function absorbModel(mine, model) {
  const fields = { ...mine.fields };
  for (const [name, field] of Object.entries(model.fields))
    fields[name] = fields[name] ? absorbField(fields[name], field) : byName(field);
  const isWider = Object.keys(fields).length > Object.keys(mine.fields).length;
  const required = [...model.required].sort();
  const { gvk, ...rest } = mine;
  const absorbed = {
    ...(gvk ? { gvk } : {}),
    ...(required.length ? { required } : {}),
    ...rest,
    order: [...model.order, ...mine.order.filter((name) => !model.order.includes(name))],
    fields: isWider ? byName(fields) : fields,
  };
  if (json([...(mine.required ?? [])].sort()) === json(required)) {
    // Nothing to say about it: the keys stay in their order.
    return { ...mine, order: absorbed.order, fields: absorbed.fields };
  }
  if (required.length === 0) delete absorbed.required;
  else absorbed.required = required;
  return absorbed;
}

/** A field with what differs taken over; one without a difference is the same object. */
function absorbField(mine, field) {
  if (mine.raw || mine.union) return mine;
  const keys = compared.filter((key) => !isSame(mine[key], field[key]));
  if (keys.length === 0) return mine;
  const next = { ...mine };
  for (const key of keys) {
    if (field[key] === undefined) delete next[key];
    else next[key] = field[key];
  }
  return byName(next);
}

function newModel({ required, order, fields, mapType }) {
  return {
    ...(required.length ? { required: [...required].sort() } : {}),
    ...(mapType ? { mapType } : {}),
    order,
    fields: byName(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, byName(field)]))),
  };
}
