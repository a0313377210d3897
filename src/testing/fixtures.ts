/**
 * Fixtures: objects from YAML or JSON, applied in an order in which each finds what it needs: namespaces and
 * definitions of kinds first.
 */
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../api/text/object.ts';
import { administratorRequest, applyObject, cleaned, rank } from '../cluster/manifests/applying.ts';
import { expanded, objectsOfFiles, objectsOfText } from '../cluster/manifests/manifest-files.ts';
import { placeOf } from '../cluster/manifests/object-place.ts';
import { readObject } from '../registry/input.ts';
import { collectionOf } from '../registry/target.ts';
import { create } from '../registry/verbs/create.ts';
import type { Writing } from '../registry/writing.ts';
import { type AnyObject, waitForObject } from './waiting.ts';

const establishedMs = 10_000;

/** YAML or JSON text, the path of a file or folder, an object, or several of these. */
export type FixtureSource = string | URL | object | readonly (string | URL | object)[];

const program = 'wherry-testing';

/** Applies all objects of a source, and gives them as they are stored. */
export async function applyFixtures(writing: Writing, source: FixtureSource): Promise<AnyObject[]> {
  const objects = (await objectsOf(source)).sort((a, b) => rank(a) - rank(b));
  const stored: AnyObject[] = [];
  for (const object of objects) stored.push(await applyOne(writing, object));
  return stored;
}

async function applyOne(writing: Writing, object: JsonObject): Promise<AnyObject> {
  const value = cleaned(object);
  const { name, generateName } = value.metadata;
  if (name === undefined && generateName !== undefined) return createOne(writing, value);
  let { entry, place } = await applyObject(writing, value, program);
  if (value.status !== undefined && place.kind.subresources.some(({ name }) => name === 'status'))
    ({ entry } = await applyObject(writing, value, program, 'status'));
  if (place.kind.kind === 'CustomResourceDefinition')
    await waitForObject(writing.registry, place, 'Established', establishedMs);
  return entry.shown(place.kind) as AnyObject;
}

async function createOne(writing: Writing, value: JsonObject): Promise<AnyObject> {
  const { kind, namespace } = placeOf(writing.registry, {
    ...value,
    metadata: { ...(value.metadata as object), name: '-' },
  });
  const request = administratorRequest('create', program, false);
  const object = readObject(writing.registry.kinds, kind, { value, duplicates: [] }, request);
  const entry = await create(writing, request, collectionOf(kind, namespace), object);
  return entry.shown(kind) as AnyObject;
}

async function objectsOf(source: FixtureSource): Promise<JsonObject[]> {
  if (Array.isArray(source)) return (await Promise.all(source.map(objectsOf))).flat();
  if (source instanceof URL || typeof source === 'string') return objectsOfSource(source);
  return expanded([source]);
}

/** The objects of a file or folder. A source of several lines is the text itself. */
async function objectsOfSource(source: string | URL): Promise<JsonObject[]> {
  const isText = async (text: string): Promise<boolean> =>
    text.includes('\n') ||
    /^\s*\{/.test(text) ||
    (/^\s*\w+:/.test(text) && !(await stat(text).catch(() => undefined)));
  const found =
    typeof source === 'string' && (await isText(source))
      ? objectsOfText(source, undefined)
      : await objectsOfFiles(source instanceof URL ? fileURLToPath(source) : source);
  return found.map(({ object }) => object);
}
