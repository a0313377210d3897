/**
 * Starts a cluster: options to settings, settings to parts, parts to a running cluster. This is the embedding API: no
 * globals, no signal handlers, no output; dozens of clusters fit into one process.
 */

import { existsSync } from 'node:fs';
import type { Cluster, StartOptions } from './cluster.ts';
import type { ClusterParts } from './cluster-parts.ts';
import { makeParts } from './parts.ts';
import { run } from './running.ts';
import { fixedPorts, readSettings } from './settings.ts';
import { Closers } from './shared/closers.ts';
import type { Copy } from './shared/copy.ts';
import type { Instruments } from './shared/instruments.ts';
import { checkPorts, listenError } from './shared/ports.ts';
import { StartError } from './shared/start-error.ts';
import { openStorage } from './storage.ts';

/** Throws a `StartError` for a manifest that is not there, before anything else is started. */
function checkManifests({ manifests = [] }: StartOptions): void {
  const missing = manifests.find((place) => !existsSync(place));
  if (missing !== undefined) throw new StartError(`there is no file or folder ${missing}`);
}

/** Starts a cluster in this process. Resolves when the API answers; nodes register after that. */
export async function start(options: StartOptions = {}): Promise<Cluster> {
  return (await startWith(options, undefined)).cluster;
}

/** The same with instruments, and with the parts that they look at; or as a copy of another cluster. */
export async function startWith(
  options: StartOptions,
  instruments: Instruments | undefined,
  copy?: Copy,
): Promise<{ readonly cluster: Cluster; readonly parts: ClusterParts }> {
  const settings = await readSettings(options, instruments, copy);
  const closers = new Closers();
  await checkPorts(fixedPorts(options));
  checkManifests(options);
  try {
    const storage = await openStorage(settings, closers);
    const parts = await makeParts(settings, storage, closers);
    const { cluster, nodes } = await run(settings, parts, closers);
    const { registry, definitions, controllers } = parts;
    return { cluster, parts: { registry, definitions, nodes, controllers: () => controllers.current } };
  } catch (error) {
    await closers.close().catch(settings.report);
    throw listenError(error, { host: options.host, port: options.port });
  }
}
