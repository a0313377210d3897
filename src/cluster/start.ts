/**
 * Starts a cluster: options to settings, settings to parts, parts to a running cluster. This is the embedding API: no
 * globals, no signal handlers, no output; dozens of clusters fit into one process.
 */

import type { Cluster, StartOptions } from './cluster.ts';
import type { ClusterParts } from './cluster-parts.ts';
import { makeParts } from './parts.ts';
import { run } from './running.ts';
import { readSettings } from './settings.ts';
import { Closers } from './shared/closers.ts';
import type { Instruments } from './shared/instruments.ts';
import { StartError } from './shared/start-error.ts';
import { openStorage } from './storage.ts';

/** Starts a cluster in this process. Resolves when the API answers; nodes register after that. */
export async function start(options: StartOptions = {}): Promise<Cluster> {
  return (await startWith(options, undefined)).cluster;
}

/** The same with instruments, and with the parts that they look at. */
export async function startWith(
  options: StartOptions,
  instruments: Instruments | undefined,
): Promise<{ readonly cluster: Cluster; readonly parts: ClusterParts }> {
  const settings = await readSettings(options, instruments);
  const closers = new Closers();
  const storage = await openStorage(settings, closers);
  try {
    const parts = await makeParts(settings, storage, closers);
    const { cluster, nodes } = await run(settings, parts, closers);
    const { registry, definitions, controllers } = parts;
    return { cluster, parts: { registry, definitions, nodes, controllers: () => controllers.current } };
  } catch (error) {
    await closers.close().catch(settings.report);
    throw asStartError(error, options);
  }
}

function asStartError(error: unknown, options: StartOptions): unknown {
  // Node's error names the port that could not be opened: the server's or the ingress'.
  const {
    code,
    address: host = options.host ?? '127.0.0.1',
    port = options.port,
  } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === 'EADDRINUSE')
    return new StartError(`port ${port} on ${host} is taken by another process`, { cause: error });
  if (code === 'EACCES')
    return new StartError(`port ${port} on ${host} may not be used by this user`, { cause: error });
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new StartError(`${host} is not an address of this machine`, { cause: error });
  return error;
}
