/**
 * The entry point of the `kube-apiserver` that `wherry envtest` writes: `node SCRIPT CONTROLLERS PARENT FLAG…`. It holds
 * what is needed to read flags; the server itself is in the bundle, which is loaded only to serve.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadBundle } from '../cli/bundleload.ts';
import { runApiServer, type ServerBundle } from './apiserver.ts';

/** The bundle's file; defined by the build. */
declare const bundleFile: string;

const [, , controllers, parent, ...args] = process.argv;

const packageVersion = (): string =>
  (JSON.parse(readFileSync(path.join(__dirname, '../package.json'), 'utf8')) as { version: string }).version;

void runApiServer(args, {
  wherryVersion: packageVersion,
  controllers: controllers || undefined,
  parent: Number(parent),
  load: () => loadBundle<ServerBundle>(__dirname, bundleFile, require),
});
