/**
 * The objects that are written in the files below a folder. What is no manifest is counted by what it is: templates of
 * Helm and of other programs, patches and settings of Kustomize, values, files that cannot be read.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { exactText, readDocuments } from './documents.mjs';

const filesMax = 100_000;
const fileBytesMax = 16 * 1024 * 1024;
const foldersDepthMax = 40;
/** Lists may hold lists. */
const listsDepthMax = 5;

const manifestName = /\.(ya?ml|json)$/i;
const passedFolders = new Set(['node_modules', '.git']);
const kustomizationName = /^kustomization\.ya?ml$/i;
/** Patches that no kustomization names, because its line is a comment, as in what kubebuilder writes. */
const patchName = /(^|[\\/])patch(es)?[\\/]|[-_.]patch[^\\/]*$|[\\/]patch[-_][^\\/]*$/i;
/** What Go templates, shells, other languages of templates and people write for a value that is to be filled in. */
const placeholder = /\{\{|\$\{|\$\(|\$[A-Za-z_]{2}|<[^<>]+>|%[sdv]|@@/;

/** Reads a folder: `{ files, objects, skipped, unreadable }`. */
export function readManifests(folder) {
  const files = filesBelow(folder);
  const texts = new Map();
  const found = { files: files.length, objects: [], skipped: new Map(), unreadable: [] };
  const named = new Set();
  for (const file of files) {
    if (statSync(file).size > fileBytesMax) {
      found.unreadable.push({ file, words: `larger than ${fileBytesMax / 1024 / 1024} MiB` });
      continue;
    }
    const text = readFileSync(file, 'utf8');
    texts.set(file, text);
    if (kustomizationName.test(path.basename(file))) for (const name of namedBy(file, text)) named.add(name);
  }
  for (const [file, text] of texts) readFile(folder, file, text, named, found);
  return found;
}

function filesBelow(folder) {
  const files = [];
  const visit = (at, depth) => {
    if (depth > foldersDepthMax) throw new Error(`${at}: more than ${foldersDepthMax} folders deep`);
    for (const entry of readdirSync(at, { withFileTypes: true }).sort(byName)) {
      const name = path.join(at, entry.name);
      if (entry.isDirectory() && !passedFolders.has(entry.name)) visit(name, depth + 1);
      // Links are not followed: they could lead out of the folder, or in circles.
      else if (entry.isFile() && manifestName.test(entry.name)) files.push(name);
    }
    if (files.length > filesMax) throw new Error(`${folder}: more than ${filesMax} files`);
  };
  if (statSync(folder).isFile()) return [folder];
  visit(folder, 0);
  return files;
}

const byName = (one, other) => (one.name < other.name ? -1 : 1);

/** The files that a kustomization names as patches, settings or data: no manifests of their own. */
function namedBy(file, text) {
  let value;
  try {
    [value] = readDocuments(text);
  } catch {
    return [];
  }
  const names = [
    ...list(value?.patches).map((patch) => patch?.path),
    ...list(value?.patchesStrategicMerge),
    ...list(value?.patchesJson6902).map((patch) => patch?.path),
    ...list(value?.replacements).map((replacement) => replacement?.path),
    ...['configurations', 'transformers', 'generators', 'validators'].flatMap((key) => list(value?.[key])),
    ...['configMapGenerator', 'secretGenerator']
      .flatMap((key) => list(value?.[key]))
      .flatMap((generator) => list(generator?.files))
      .map((entry) => String(entry).replace(/^[^=]*=/, '')),
    value?.openapi?.path,
  ];
  return names
    .filter((name) => typeof name === 'string' && !name.includes('\n'))
    .map((name) => path.join(path.dirname(file), name));
}

const list = (value) => (Array.isArray(value) ? value : []);

function readFile(folder, file, text, named, found) {
  const skip = (what) => found.skipped.set(what, (found.skipped.get(what) ?? 0) + 1);
  const isPatch = named.has(file) || patchName.test(path.relative(folder, file));
  if (isPatch || kustomizationName.test(path.basename(file))) return skip('of Kustomize');
  const isChart = file.split(path.sep).includes('templates') && text.includes('{{');
  if (isChart) return skip('templates');
  let values;
  try {
    values = readDocuments(text);
  } catch (error) {
    if (placeholder.test(text)) return skip('templates');
    return found.unreadable.push({ file, words: error.message });
  }
  for (const value of values.flatMap((one) => itemsOf(one, 0))) {
    const what = otherThanManifest(value);
    if (what) skip(what);
    else found.objects.push(manifest(file, value));
  }
}

/** The objects of a list, as kubectl takes them apart; any other value itself. */
function itemsOf(value, depth) {
  const isList = typeof value?.kind === 'string' && value.kind.endsWith('List') && Array.isArray(value.items);
  if (!isList || depth === listsDepthMax) return [value];
  const kind = value.kind.slice(0, -'List'.length);
  return value.items
    .map((item) =>
      kind && typeof item === 'object' ? { apiVersion: value.apiVersion, kind, ...item } : item,
    )
    .flatMap((item) => itemsOf(item, depth + 1));
}

/** What a document is that is no manifest; undefined when it is one. */
function otherThanManifest(value) {
  if (typeof value?.apiVersion !== 'string' || typeof value.kind !== 'string') return 'values';
  const { metadata } = value;
  if (value.apiVersion.startsWith('kustomize.config.k8s.io/')) return 'of Kustomize';
  if ('$patch' in value || (value.spec && typeof value.spec === 'object' && '$patch' in value.spec))
    return 'of Kustomize';
  const names = [value.apiVersion, value.kind, metadata?.name, metadata?.generateName, metadata?.namespace];
  // A name that is a map is `{{ name }}` without quotes.
  if (names.some((name) => (name && typeof name === 'object') || placeholder.test(String(name ?? ''))))
    return 'templates';
  return undefined;
}

function manifest(file, value) {
  const body = exactText(value);
  return { file, value, body, hasPlaceholders: placeholder.test(body) };
}
