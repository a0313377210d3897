/**
 * The entry point of the `kube-apiserver` that `wherry envtest` writes: `node SCRIPT CONTROLLERS@VERSION PARENT FLAG…`. All that
 * it does is in the bundle, whose compiled code is cached.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadBundle } from '../program/bundle-load.ts';
import type { runApiServer } from './apiserver.ts';

/** The bundle's file; defined by the build. */
declare const bundleFile: string;

const [, , written = '', parent, ...args] = process.argv;
const [controllers, version] = written.split('@');

const packageVersion = (): string =>
  (JSON.parse(readFileSync(path.join(__dirname, '../package.json'), 'utf8')) as { version: string }).version;

const bundle = loadBundle<{ runApiServer: typeof runApiServer }>(
  __dirname,
  bundleFile,
  'kube-apiserver',
  require,
);
void bundle.exports.runApiServer(args, {
  wherryVersion: packageVersion,
  controllers: controllers || undefined,
  version,
  parent: Number(parent),
  started: bundle.started,
});
