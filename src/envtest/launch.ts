/**
 * The entry point of the programs that `wherry envtest` writes: `node envtest.cjs PROGRAM CONTROLLERS PARENT FLAG…`. It holds
 * what both need to read their flags; the server itself is in the bundle, which is loaded only to serve.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadBundle } from '../cli/bundleload.ts';
import { runApiServer, type ServerBundle } from './apiserver.ts';
import { runEtcd } from './etcd.ts';

/** The bundle's file; defined by the build. */
declare const bundleFile: string;

const [, , program, controllers, parentPid, ...args] = process.argv;
const parent = Number(parentPid);

const packageVersion = (): string =>
  (JSON.parse(readFileSync(path.join(__dirname, '../package.json'), 'utf8')) as { version: string }).version;

if (program === 'etcd') void runEtcd(args, parent);
else
  void runApiServer(args, {
    wherryVersion: packageVersion(),
    controllers: controllers || undefined,
    parent,
    load: () => loadBundle<ServerBundle>(__dirname, bundleFile, require),
  });
