/**
 * Fixtures: objects from YAML or JSON, applied in an order in which each finds what it needs: namespaces and
 * definitions of kinds first.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isJsonObject, type JsonObject } from '../api/text/object.ts';
import { readYaml } from '../api/text/yaml.ts';
import { readObject } from '../registry/input.ts';
import { Request } from '../registry/request.ts';
import { collectionOf } from '../registry/target.ts';
import { apply } from '../registry/verbs/apply.ts';
import { create } from '../registry/verbs/create.ts';
import type { Writing } from '../registry/writing.ts';
import { placeOf } from './object-place.ts';
import { type AnyObject, waitForObject } from './waiting.ts';

/** Files of a folder, with those of its folders. */
const filesMax = 10_000;
const establishedMs = 10_000;
const endings = ['.yaml', '.yml', '.json'];
/** What a server adds to objects, and a fixture that was copied from one may hold. */
const serverFields = [
  'managedFields',
  'resourceVersion',
  'uid',
  'creationTimestamp',
  'generation',
  'selfLink',
];

/** YAML or JSON text, the path of a file or folder, an object, or several of these. */
export type FixtureSource = string | URL | object | readonly (string | URL | object)[];

const program = 'wherry-testing';
const administrator = { name: 'system:admin', groups: ['system:masters', 'system:authenticated'] };

/** Applies all objects of a source, and gives them as they are stored. */
export async function applyFixtures(writing: Writing, source: FixtureSource): Promise<AnyObject[]> {
  const objects = (await objectsOf(source)).sort((a, b) => rank(a) - rank(b));
  const stored: AnyObject[] = [];
  for (const object of objects) stored.push(await applyOne(writing, object));
  return stored;
}

const rank = ({ kind }: JsonObject): number =>
  kind === 'Namespace' ? 0 : kind === 'CustomResourceDefinition' ? 1 : 2;

async function applyOne(writing: Writing, object: JsonObject): Promise<AnyObject> {
  const { metadata, ...rest } = object;
  if (!isJsonObject(metadata))
    throw new Error(`an object without metadata: ${JSON.stringify(object).slice(0, 200)}`);
  const meta = Object.fromEntries(Object.entries(metadata).filter(([name]) => !serverFields.includes(name)));
  const value = { ...rest, metadata: meta } as JsonObject;
  if (meta.name === undefined && meta.generateName !== undefined) return createOne(writing, value);
  const place = placeOf(writing.registry, value as never);
  if (place.kind.namespaced) meta.namespace ??= place.namespace;
  const patch = { value, duplicates: [], force: true };
  const put = async (part: 'main' | 'status') =>
    (await apply(writing, asKit('patch', true), { ...place, part }, patch, () => undefined)).entry;
  let entry = await put('main');
  if (value.status !== undefined && place.kind.subresources.some(({ name }) => name === 'status'))
    entry = await put('status');
  if (place.kind.kind === 'CustomResourceDefinition')
    await waitForObject(writing.registry, place, 'Established', establishedMs);
  return entry.shown(place.kind) as AnyObject;
}

async function createOne(writing: Writing, value: JsonObject): Promise<AnyObject> {
  const { kind, namespace } = placeOf(writing.registry, {
    ...value,
    metadata: { ...(value.metadata as object), name: '-' },
  });
  const request = asKit('create', false);
  const object = readObject(writing.registry.kinds, kind, { value, duplicates: [] }, request);
  const entry = await create(writing, request, collectionOf(kind, namespace), object);
  return entry.shown(kind) as AnyObject;
}

const asKit = (verb: 'create' | 'patch', isApply: boolean): Request =>
  new Request({
    user: administrator,
    verb,
    userAgent: program,
    fieldManager: program,
    isApply,
    fieldValidation: 'Strict',
  });

async function objectsOf(source: FixtureSource): Promise<JsonObject[]> {
  if (Array.isArray(source)) return (await Promise.all(source.map(objectsOf))).flat();
  if (source instanceof URL || typeof source === 'string') return objectsOfText(await textsOf(source));
  return expanded([source]);
}

/** The texts of a file or folder. A source of several lines is the text itself. */
async function textsOf(source: string | URL): Promise<string[]> {
  if (typeof source === 'string' && (source.includes('\n') || /^\s*\{/.test(source))) return [source];
  const found = await stat(source).catch(() => undefined);
  if (!found && typeof source === 'string' && /^\s*\w+:/.test(source)) return [source];
  if (!found) throw new Error(`there is no file or folder ${source}`);
  if (found.isFile()) return [await readFile(source, 'utf8')];
  const names = (await readdir(source, { recursive: true })).filter((name) =>
    endings.includes(path.extname(name)),
  );
  if (names.length > filesMax) throw new RangeError(`the folder ${source} has more than ${filesMax} files`);
  const folder = source instanceof URL ? fileURLToPath(source) : source;
  return Promise.all(names.sort().map((name) => readFile(path.join(folder, name), 'utf8')));
}

function objectsOfText(texts: readonly string[]): JsonObject[] {
  const documents = texts
    .flatMap((text) => text.split(/^---(?:[ \t].*)?$/m))
    .filter((text) => /^\s*[^\s#]/m.test(text));
  return expanded(documents.map((text) => readYaml(text).value));
}

/** Lists count as the objects in them. */
function expanded(values: readonly unknown[]): JsonObject[] {
  return values.flatMap((value) => {
    if (value === null) return [];
    if (!isJsonObject(value)) throw new Error(`${JSON.stringify(value)} is no object of the API`);
    const { kind, items } = value;
    return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)
      ? expanded(items)
      : [value];
  });
}
