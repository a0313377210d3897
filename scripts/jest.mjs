/**
 * Jest, for the test of its glue. It is installed privately, below `.cache`, and not as a dependency: it
 * would bring 180 packages, nearly as many as all others together, for one test.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { finished } from './side-process.mjs';

const version = '30.5.2';
const folder = path.join(path.dirname(import.meta.dirname), '.cache/jest', version);
const program = path.join(folder, 'node_modules/jest/bin/jest.js');

/** The file that Node runs; undefined when it is missing. With `tell` it is installed then. */
export async function findJest(tell) {
  if (tell && !existsSync(program)) {
    tell(`Installing jest ${version}…`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save', `jest@${version}`];
    await finished('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  return existsSync(program) ? program : undefined;
}
