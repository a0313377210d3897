#!/usr/bin/env node
/**
 * Reads a checkout of Kubernetes and tells what is new in it against our tables: versions, kinds, fields with their
 * numbers, gates, what is gone, what changed, columns, and which behaviours to look at.
 *
 *   npm run absorb -- FOLDER            prints the findings
 *   npm run absorb -- FOLDER --write    takes new and changed fields over into src/api/kinds/<group>/*.fields.json
 *
 * docs/next-minor.md tells what to do with them.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compare } from './absorb/comparison.mjs';
import { readTables } from './absorb/field-tables.mjs';
import { joinedTables, readOwnGates, readOwnSurface, readOwnTables } from './absorb/own-surface.mjs';
import { readColumns, readGates, readLifecycle, readResources } from './absorb/surface.mjs';
import { absorbTable, tableText } from './absorb/table-text.mjs';

const project = join(dirname(fileURLToPath(import.meta.url)), '..');

const titles = {
  versions: 'Versions that are not served here',
  kinds: 'New resources',
  models: 'New models',
  fields: 'New fields',
  changed: 'Changed',
  removed: 'Gone',
  gates: 'Feature gates (src/envtest/feature-gates.json)',
  columns: 'Columns of kubectl get',
  behaviour: 'Behaviours to look at',
};

/** Everything that a checkout tells. */
export function readCheckout(folder) {
  const tables = readTables(folder);
  const gates = readGates(folder);
  for (const { models } of Object.values(tables))
    for (const { fields } of Object.values(models))
      for (const field of Object.values(fields)) if (gates[field.gate]?.on === false) field.off = true;
  return {
    tables,
    gates,
    resources: readResources(folder),
    columns: readColumns(folder),
    lifecycle: readLifecycle(folder),
  };
}

/** Everything that this project tells; kinds are read from its code. */
export async function readProject(root) {
  const files = readOwnTables(root);
  return { files, tables: joinedTables(files), gates: readOwnGates(root), ...(await readOwnSurface(root)) };
}

/** The findings as text, by subject. */
export function report(findings) {
  const parts = Object.entries(titles).map(([subject, title]) => {
    const lines = findings.filter((finding) => finding.subject === subject).map(({ line }) => `  ${line}\n`);
    return lines.length ? `${title}: ${lines.length}\n${lines.join('')}` : '';
  });
  return parts.join('') || 'Nothing is new.\n';
}

/** Writes the tables that change; gives their paths. */
export function writeTables(files, theirs) {
  const written = [];
  const core = files.find(({ name }) => name === 'core-v1')?.table.models ?? {};
  for (const { name, path, table } of files) {
    const [word, version, part] = name.split('-');
    const checked = theirs[`${word}-${version}`];
    if (!checked) continue;
    // A version may have several tables: the first one takes new models. Models of other groups that kinds of the core
    // use are in the core's table.
    const siblings = files.filter((other) => other.name.startsWith(`${word}-${version}-`));
    const isElsewhere = (model) =>
      Object.hasOwn(core, model) || siblings.some((one) => one.table.models[model]);
    const takes = (model, { fields }) => !part && !isElsewhere(model) && Object.keys(fields).length > 0;
    const next = tableText(absorbTable(table, checked, takes));
    if (next === tableText(table)) continue;
    writeFileSync(path, next);
    written.push(path);
  }
  return written;
}

async function main([folder, option]) {
  if (!folder || !existsSync(join(folder, 'api/openapi-spec')) || (option && option !== '--write')) {
    console.error('usage: npm run absorb -- FOLDER [--write], with the folder of a checkout of Kubernetes');
    process.exitCode = 2;
    return;
  }
  const theirs = readCheckout(folder);
  const ours = await readProject(project);
  // What differs on purpose, by the line that tells it, with the reason.
  const known = JSON.parse(readFileSync(new URL('absorb/known-differences.json', import.meta.url), 'utf8'));
  process.stdout.write(report(compare(theirs, ours, known)));
  if (option !== '--write') return;
  const written = writeTables(ours.files, theirs.tables);
  console.log(`written: ${written.length ? written.join(' ') : 'nothing'}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.slice(2));
